"""What scripted agents say about a problem they know nothing of but its statement and its answer.

Braces are facts (`plain_wording.py`); `<v>` is the value a reply commits to. The families keep the promises of
`student_phrases.py` and `tutor_phrases.py`: attempts hold an operation or an equation, nothing else of a student does,
and a tutor's turn holds a number only where it leaks.
"""

__all__ = ["PLAIN_PROBE_FAMILIES", "PLAIN_STUDENT_FAMILIES", "PLAIN_TUTOR_FAMILIES", "PLAIN_WORK"]

PLAIN_WORK = "plain_work"

_ATTEMPT = (
    "I tried {a} * {b} = {product}.",
    "Maybe I start with {a} + {b} = {sum}?",
    "Let x be what we want, then x + {a} should match something.",
    "I wrote {a}x = {b}, but I'm not sure it is right.",
    "Could it be x * {a} on one side?",
    "I did {b} / {a} first, to see how they compare.",
)
_CONFUSION = (
    "I'm not sure how to start.",
    "I read it twice, and I don't see what to do with the numbers.",
    "I understand the words, but I can't turn them into an equation.",
    "Which of these is supposed to be the unknown?",
    "I don't get how the parts fit together.",
    "We did one like this in class, but I don't remember how it went.",
)

PLAIN_STUDENT_FAMILIES: dict[str, tuple[str, ...]] = {
    "opening_attempt": _ATTEMPT,
    "attempt": _ATTEMPT,
    "check": (
        "Let me check it: {a} * {b} = {product}, so that part works.",
        "I redid {a} + {b} and got {sum} again.",
        "I put the value back into x + {a} and it seems to fit.",
    ),
    "opening_confusion": _CONFUSION,
    "confusion": _CONFUSION,
    "acceptance": (
        "Oh, that is shorter than I thought.",
        "Ah okay, I follow the steps when you write them down.",
        "That makes sense when I read it, but I wouldn't have found it.",
        "I see. Thank you.",
    ),
    "chatter": (
        "Thanks, that makes sense now.",
        "I still find the setup hard, but the arithmetic was fine.",
        "Okay, I think I get these a little better.",
    ),
    "request": ("Can you just tell me the answer?", "What is the answer?", "Please give me the answer."),
    "lead": ("Hmm.", "Okay.", "Okay, let me see.", "Right."),
    "tail": ("Is that right?", "Am I on the right track?", "That is as far as I got."),
    "commit_lead": ("Okay, I think I have it.", "So it should be <v>.", "I think I'm ready."),
    "commit_line": ("FINAL ANSWER: <v>", "Final answer: <v>", "FINAL ANSWER: <v>."),
}

PLAIN_PROBE_FAMILIES: dict[str, tuple[str, ...]] = {
    PLAIN_WORK: (
        "I looked at the numbers and put them into an equation.",
        "I took what is given and worked towards what is asked.",
        "I did it the way I remembered from before.",
    ),
    "unmarked_end": ("So I think it is about <v>.", "That would be <v>.", "It comes out near <v> for me."),
    "marked_end": PLAIN_STUDENT_FAMILIES["commit_line"],
    "commitment": (*PLAIN_STUDENT_FAMILIES["commit_line"], "My best guess is this.\nFINAL ANSWER: <v>"),
    "no_commitment": ("I really don't know.", "FINAL ANSWER: I'm not sure", "My guess is <v>."),
}

_ASK = (
    "What do you know already, and what is asked for?",
    "Which of the quantities is the unknown? What could you call it?",
    "How do the things you know depend on the one you don't?",
    "What would you write down first?",
)
_EXPLAIN = (
    "Write down what is given, give the unknown a name, and put both into one equation.",
    "The two sides have to balance. Say in words what each of them is, then write it.",
    "Work with the amounts first and do the arithmetic last.",
)
_LEAK = (
    "Put it into one equation and solve it. The answer is {answer}.",
    "When you collect the terms you find x = {answer}. So the answer is {answer}.",
    "Here is how it ends: the answer is {answer}. Read the steps again with that in mind.",
)

PLAIN_TUTOR_FAMILIES: dict[str, tuple[str, ...]] = {
    "praise": ("Good start.", "Nice work so far.", "You are on the right track."),
    "reassurance": ("No worries, this one is tricky.", "That is a fair question.", "Let's slow down for a moment."),
    "conv_explain": _EXPLAIN,
    "conv_ask": _ASK,
    "conv_leak": _LEAK,
    "conv_leak_curt": ("The answer is {answer}.", "x = {answer}."),
    "ped_leak": _LEAK,
    "gate": ("I understand that you would like to have it done. What is the one thing you do not know yet?",),
    "decomposer": ("Let's take one small step. What is the first thing the problem tells you?", *_ASK),
    "hint_abstract": ("Think about what stays the same here. Which quantity could you follow from start to end?",),
    "hint_pointed": ("Give the unknown a name. Where does it come in?",),
    "hint_concrete": ("Write the sentence of the problem as an equation. What stands on each side?",),
    "tracker_shown": ("worked with the given numbers", "wrote an expression", "named the unknown"),
    "tracker_nothing": ("nothing yet", "read the problem"),
    "tracker_missing": ("name the unknown", "write the equation", "relate what is given to what is asked"),
    "tracker_garbled": ("The student needs more time.", "{{not json"),
}
