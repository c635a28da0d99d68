"""The profile's grader as the reward function of a trainer, so that level and reward agree.

Each function reads the ``grading_key`` that every exported row carries and gives the reward that
the profile would have given: 1.0 right, 0.0 wrong, no answer or cut. An answer that the grader
cannot judge is unknown: None where the trainer takes it, else 0.0 with a flag beside it.

The signatures are those of TRL 1.16, verl 0.9.1, ms-swift 4.6, OpenRLHF 0.11.2, verifiers 0.3.1 and
AReaL 1.0.4; ``reward`` serves any other. A trainer that does not say whether a reply was cut makes
the reward too kind: a number or a closing sentence that merely stood last when the limit came is
then taken for the answer. A reply that ended by itself gets the same reward everywhere. All
functions may be called from many threads and processes: mathematics that needs evaluation goes to a
worker of the calling process, under a deadline.
"""

from difficulty.rewards.areal import areal_reward
from difficulty.rewards.ms_swift import GradeORM
from difficulty.rewards.openrlhf import make_openrlhf_reward, reward_func
from difficulty.rewards.reply import reward
from difficulty.rewards.trl import make_trl_reward, trl_reward
from difficulty.rewards.verifiers import verifiers_reward
from difficulty.rewards.verl import compute_score

__all__ = [
    "GradeORM",
    "areal_reward",
    "compute_score",
    "make_openrlhf_reward",
    "make_trl_reward",
    "reward",
    "reward_func",
    "trl_reward",
    "verifiers_reward",
]
