"""Words that suppose an answer, take one back or refuse to give one."""

from __future__ import annotations

from difficulty.grading.words.word_lists import Words

SUPPOSE = Words(
    english="suppose, supposing, imagine, pretend, what if, unless",
    japanese="もし, 仮に",
    chinese="如果, 假如",
    korean="만약",
)
"""Before what is only supposed."""

ASSUME = Words(english="assume, assuming")
"""Likewise, but what follows after a comma is stated."""

SUPPOSED = Words(japanese="であれば, ならば, の場合, すれば", korean="라면, 다면")
"""After what is only supposed."""

TAKE_BACK = Words(
    english="actually, correction, oops, sorry, hold on, my bad, scratch that, strike that, "
    "never mind, nope, on reflection, i meant, i misread, i miscounted, i miscalculated, "
    "i was wrong, let me correct",
    japanese="訂正, 修正, 待っ, いや, 間違, 誤りで, 見直, やり直, 考え直, 計算し直, やはり, "
    "やっぱり, 失礼, すみません",
    chinese="更正, 纠正, 等等, 等一下, 不对, 不對, 重新, 改为, 改為, 改选",
    korean="정정, 수정, 다시, 잠깐, 틀렸",
)
"""What comes before may be given up, if another answer follows."""

GIVE_UP = Words(
    english="scratch that, just kidding, only kidding, just joking, only joking, "
    "i take that back, i take it back, i take this back, ignore that, ignore the above, "
    "ignore this answer, disregard that, disregard the above, disregard this answer, forget that, "
    "forget the above, forget this answer, i retract, i withdraw, i hereby retract, "
    "i hereby withdraw",
    japanese="撤回, 取り消, 取消し",
    chinese="作废, 作廢",
    korean="취소",
)
"""What comes before is given up, whether or not another answer follows."""

UNABLE = Words(
    english="cannot, can't, can not, could not, couldn't, unable to, not able to, won't, "
    "impossible to, not possible to, no way to, refuse to, decline to, hard to, difficult to"
)
"""Before one of ``TO_ANSWER``: the reply gives no answer."""

TO_ANSWER = Words(
    english="determine, decide, say, answer, tell, choose, select, identify, provide, pick, know, "
    "give, conclude, commit, assist, help, find, calculate, compute, solve, be determined, "
    "be found, be computed, be calculated, be solved, be answered, be known"
)

REFUSE = Words(
    english="don't know, do not know, didn't know, don't really know, do not really know, "
    "don't actually know, do not actually know, not sure, not certain, unsure, no idea, "
    "depends on, consult a, not enough information, not enough data, insufficient, no answer",
    japanese="わかりませ, わかりな, わからな, 分かりませ, 分かりな, 分からな, 判断できませ, "
    "判断できな, 答えられませ, 答えられな, 回答できませ, 回答できな, お答えできませ, お答えできな, "
    "決められませ, 決められな, 求められませ, 求められな, 特定できませ, 特定できな",
    chinese="无法, 無法, 不知道, 不确定",
    korean="모르, 알 수 없, 판단할 수 없",
)
"""The reply gives no answer."""
