"""Words between statements: therefore, in total, or, perhaps, and, except."""

from __future__ import annotations

from difficulty.grading.words.word_lists import Words

THEREFORE = Words(
    english="so, therefore, thus, hence, consequently, accordingly, in conclusion, conclusion, "
    "overall, in summary, to conclude, ergo",
    japanese="よって, したがって, 従って, ゆえに, 故に, 以上より, 以上から, 結論として, 結論",
    chinese="因此, 所以, 综上, 综上所述, 综上述, 故",
    korean="따라서, 그러므로, 결론적으로",
    signs="∴",
)
"""What follows is concluded from what stands before."""

IN_TOTAL = Words(english="finally, in total, altogether")
"""What follows is the result of a computation; in a list of options only the last item."""

OR = Words(
    english="or",
    japanese="または, 又は, もしくは, あるいは",
    chinese="或, 或者, 或是",
    korean="또는, 혹은",
)
"""Between two answers of which either may be meant."""

OR_PARTICLE = Words(japanese="か", korean="이나")
"""The same, right after the first of the two."""

PERHAPS = Words(english="possibly, maybe, perhaps, alternatively")
"""Before another answer that may be meant as well."""

AND = Words(
    english="and",
    japanese="と, および, 及び, 並びに",
    chinese="和, 与, 與, 及, 以及, 并, 並",
    korean="및, 와, 과",
)
"""Between two answers that are both meant."""

EXCEPT = Words(english="except, except for, besides, other than, apart from")
"""What follows is left out of what is said of all others."""
