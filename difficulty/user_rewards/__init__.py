"""The user's own reward functions, as written for TRL or verl, in place of the built-in grader.

They run in processes of their own, since they may hang, crash, print and take as long as a judge
over HTTP does. A reward that is not known (an error, a deadline, None, NaN) is unknown, never 0.
"""

from difficulty.user_rewards.done import forget, try_errors_again
from difficulty.user_rewards.grades import reward_grades
from difficulty.user_rewards.reward_pool import RewardPool
from difficulty.user_rewards.trial import check_load, grading_for_trial, require_reward, try_rewards

__all__ = [
    "RewardPool",
    "check_load",
    "forget",
    "grading_for_trial",
    "require_reward",
    "reward_grades",
    "try_errors_again",
    "try_rewards",
]
