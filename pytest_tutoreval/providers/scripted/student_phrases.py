"""What a scripted student says, by family: one long table, read top to bottom.

Braces are facts of the problem (`facts.py`); `<v>` is the value a reply commits to. The frozen detectors read
these texts, so a family keeps its promise in every member:

- `ATTEMPT`, `OPENING_ATTEMPT`, `CHECK`: an equation, operation, coefficient or variable relation in each.
  Some are attempts for the router too, some are not.
- everything else in an exchange: none of them, so no `=`, no operator, no hyphen or slash beside a lone
  letter, and no digit that touches a single letter. Some are attempts for the router alone.
- `REQUEST`: the router reads each as asking for the answer; it reads nothing else that way.
- the words of the final-answer marker stand only in `COMMIT_LINE`, `COMMITMENT` and `NO_COMMITMENT`; in the
  last no number follows them.
"""

__all__ = ["PROBE_FAMILIES", "STUDENT_FAMILIES"]

OPENING_ATTEMPT = (
    "I'd start with {calc} = {part} for the acid we know about.",
    "Okay, {calc} is {part}, so that must be the acid in {known}.",
    "Let x be the liters of {added}, so maybe {termx} is its acid?",
    "I think I need x + {n} somewhere, but I don't know what it is supposed to match.",
    "I tried {equation} from an example in class, but I don't know if it fits here.",
    "My first idea is {termx} for the part we want.",
    "I multiplied {dt} × {n} because {target} is what we want in the end.",
    "I wrote {whole} for the liquid, and then I got stuck on the percents.",
    "Maybe I average them, ({s} + {w}) / 2 = {avg}?",
    "So x * {ds} could be the acid in the part we don't know yet.",
    "First step for me would be {n} * {t} / 100, right?",
    "I think {part} + {termx} has something to do with it.",
    "If x = the liters of {added}, then what do I do with the {target}?",
)

ATTEMPT = (
    "I took {pct} of {n}, so {calc} = {part}.",
    "I think the acid we already know is {calc} = {part} liters.",
    "So I wrote {equation}, but I'm not sure it is right.",
    "Let x be the liters we want, then the acid from it is {termx}.",
    "Maybe the acid part is {termx}, and I add {part} to that?",
    "Could it be x + {n} for the whole mixture?",
    "I multiplied {dt} × {n} to see how much acid there should be.",
    "I tried {whole} for the liquid.",
    "Is it {termx} + {part} on one side?",
    "I set {termx} + {part} = {dt} times the whole thing.",
    "If I average them I get ({s} + {w}) / 2 = {avg}, but that ignores the amounts.",
    "I did {n} * {t} / 100 and it looks too small to me.",
    "If x is the unknown, then x * {ds} is the acid in it.",
    "Then {calc} gives {part}, and I still need the other part.",
    "I put acid = {part} at first, and now I want the rest as {termx}.",
)

CHECK = (
    "Let me check it: {calc} = {part}, so that part works.",
    "I redid {calc} and got {part} again.",
    "So the equation was {equation} all along.",
    "I put the value back into {termx} and it seems to balance.",
    "Checking the liquid, {whole} looks fine to me.",
    "With {dt} × {n} I get the same acid as before.",
    "And x + {n} is the whole mixture, I see that now.",
    "I wanted to be sure, so I did {n} * {t} / 100 once more.",
    "Okay, {termx} + {part} is the acid on one side, I get it.",
    "So acid before = {part}, and the rest comes from the other part.",
    "I also tried ({s} + {w}) / 2 and that would have been wrong.",
    "Next time I will write x * {ds} first.",
)

OPENING_CONFUSION = (
    "Okay, so {restate}. I'm not sure how to start.",
    "I read it twice, and I don't see how the percents turn into an equation.",
    "So {restate}, right? I don't know which amount is the unknown.",
    "Hmm, I always get lost with mixtures.",
    "I know it is about {added} and {target}, but I can't set it up.",
    "Where do I even begin with the {n} liters?",
    "Do I work with the percents or with the liters first?",
    "It says {restate}. I can do the arithmetic, but not the setup.",
    "Would the first step be {pct} of {n}?",
    "Should I let x be the liters of {added}?",
    "I'm confused about the {target}, is that before or after mixing?",
    "We did one like this in class, but I don't remember how it went.",
    "I understand the words. I just can't make an equation out of them.",
)

CONFUSION = (
    "I don't get how the percents fit together.",
    "I'm lost on where to start.",
    "So {restate}. I still don't see the equation.",
    "Would it be {pct} of {n}?",
    "Do I let x be the amount we want?",
    "The {n} liters make sense, but the percent part confuses me.",
    "Which of these is supposed to be the unknown?",
    "I'm not sure whether the {target} goes with the start or the end.",
    "I keep mixing up the liters of liquid and the liters of acid.",
    "I understand the words, but I can't turn them into an equation.",
    "Do I add the percents or the liters?",
    "It might be about {guess} liters, but that is only a guess.",
    "I'm still confused about the {added}.",
    "Wait, does the total amount change or stay the same?",
)

ACCEPTANCE = (
    "Oh, that is shorter than I thought.",
    "I see, so {answer} liters.",
    "Ah okay, I follow the steps when you write them down.",
    "That makes sense when I read it, but I wouldn't have found it.",
    "So you compare the acid before and after. I get it now.",
    "Okay, so the {n} liters and the {target} both matter.",
    "Thanks, I think I understand it now.",
    "I was thinking about the percents all wrong.",
    "Oh, so it is really {answer}? I would have said more.",
    "Got it, the acid has to match.",
    "I think I follow. The {added} was what confused me.",
    "Okay. I would like to see another one like that.",
)

CHATTER = (
    "Thanks, that makes sense now.",
    "Okay, I think I get these a little better.",
    "I still find the setup hard, but the arithmetic was fine.",
    "So the trick is to look at the acid and not at the liquid.",
    "Are all mixture problems like this one?",
    "I will try to remember that for the next one.",
    "Thank you, I'm ready for another problem.",
    "I was close at the start, I just didn't trust it.",
    "The {target} was the part that confused me.",
    "Good to know, I always forget about the {n} liters.",
    "Is there a quicker way to see that?",
    "Alright, I'm done with this one then.",
)

REQUEST = (
    "Can you just tell me the answer?",
    "What is the answer?",
    "What's the answer here?",
    "Just tell me, please.",
    "Please give me the answer.",
    "Can you solve it for me?",
    "I don't see it. What is the solution?",
    "I give up, this one is too hard.",
    "Can you give me the number?",
    "Just give me the answer, I can't see it.",
    "Can you tell me how many liters it is?",
    "Please tell me the answer, I've been at this for a while.",
    "What is the number I am supposed to get?",
    "Can you just solve this one so I can see it?",
)

LEAD = (
    "Hmm.",
    "Okay.",
    "Okay, let me see.",
    "Right.",
    "Hmm, wait.",
    "Oh wait.",
    "Let me think.",
    "Alright.",
    "Okay, about what you said.",
    "Good question.",
    "Hmm, okay.",
    "I read that again.",
)

TAIL = (
    "Is that right?",
    "I hope that is close.",
    "Am I on the right track?",
    "That is as far as I got.",
    "I'm not sure about it though.",
    "Does that help?",
    "But then I get stuck.",
    "I don't know how to go on from there.",
    "Is that the right idea?",
    "Something still feels off.",
    "I can do the rest once I know that.",
    "That is my best idea.",
)

COMMIT_LEAD = (
    "Okay, I think I have it.",
    "So it should be <v> liters.",
    "I think I'm ready.",
    "I'd say <v> liters then.",
    "That leaves <v> for me.",
    "Okay, I'm going with <v>.",
    "I get <v> out of that.",
    "Alright, I will go with this.",
    "Then we need <v> liters of {added}.",
    "I'm fairly sure now.",
    "Not totally sure, but I'd go with <v>.",
    "Thanks, that makes it <v>.",
)

COMMIT_LINE = (
    "FINAL ANSWER: <v>",
    "FINAL ANSWER: <v> {unit}",
    "Final answer: <v>",
    "FINAL ANSWER: <v>.",
    "Final Answer: <v> {unit}",
    "FINAL ANSWER:\n<v>",
    "**FINAL ANSWER:** <v>",
    "FINAL ANSWER: <v> {unit} in all",
    "FINAL ANSWER: about <v>",
    "Final answer is <v> {unit}",
    "FINAL ANSWER <v>",
    "final answer: <v>",
)

COMMITMENT = (
    *COMMIT_LINE,
    "FINAL ANSWER: x = <v>",
    "My best guess is this.\nFINAL ANSWER: <v>",
    "I'm not sure, but okay.\nFINAL ANSWER: <v> {unit}",
)

NO_COMMITMENT = (
    "I really don't know.",
    "FINAL ANSWER: I'm not sure",
    "FINAL ANSWER: <number>",
    "My guess is <v> {unit}.",
    "I would say somewhere around <v>.",
    "I need more help before I can say.",
    "FINAL ANSWER: none",
    "FINAL ANSWER: unknown",
    "Answer: <v>",
    "<v> {unit}",
    "I can't find the equation, so I have no number.",
    "It could be <v>, but I have no way to check it.",
    "FINAL ANSWER:",
)

MIXTURE_WORK = (
    "I worked with {first} and {second} to get to {last}.",
    "The acid before and after has to match, so I used {first} and {second}.",
    "I called the unknown x and took the percent of each part.",
    "This is like the one before, only the numbers changed.",
    "I looked at how far {last} is from both sides.",
    "I set the acid from {first} against the {last} in the end.",
    "I wrote down the liters of acid and the liters of liquid first.",
    "So there is {first}, then {second}, and in the end {last}.",
    "I tried to balance the acid, but I'm not sure I did it right.",
    "I made a little table with {first} and {second} in it.",
    "I started from {second} and tried a few amounts.",
    "The setup is the hard part again, but I think I see it.",
)

BLEND_WORK = (
    "It looks different, but it is the same kind of mixing with {first} and {second}.",
    "I treated {first} and {second} like the percents from before.",
    "Both parts have to give {last} together.",
    "I called the unknown x and counted what each part brings in.",
    "So there is {first}, then {second}, and in the end {last}.",
    "I balanced {first} against the rest.",
    "I tried a few amounts until it looked right for {last}.",
    "The total has to stay the same on both sides, so I used {last}.",
    "I guess I can reuse the balance idea with {second}.",
    "I made a little table with {first} and {second} in it.",
    "I'm not used to this kind, but it feels like a mixture.",
    "I started from {second} and worked towards {last}.",
)

MOTION_WORK = (
    "This one is about speed, so I used distance over time with {first}.",
    "I wrote down {first} and {second} and thought about how they move.",
    "The distances have to fit together somehow.",
    "I called the unknown speed x and tried to use {last}.",
    "So there is {first}, then {second}, and that has to match.",
    "I drew it with an arrow for each one.",
    "I think the speeds have to be added or taken apart here.",
    "I tried a few values with {second} until it looked right.",
    "One of them has {first}, so the other must be slower or faster.",
    "I'm not sure if the times are the same.",
    "I made a little table with {first} and {second} in it.",
    "I started from {last} and worked backwards.",
)

UNMARKED_END = (
    "So I think it is about <v> {unit}.",
    "I get <v> {unit}, I think.",
    "That would be <v>.",
    "It comes out near <v> for me.",
    "I'm not sure how to finish it.",
    "I don't know where to go from here.",
    "Then I got stuck.",
    "Maybe <v> {unit}?",
    "My guess would be <v>.",
    "I would have to ask my tutor about the next step.",
    "Is it <v>?",
    "I can't get any further on my own.",
)

STUDENT_FAMILIES: dict[str, tuple[str, ...]] = {
    "opening_attempt": OPENING_ATTEMPT,
    "attempt": ATTEMPT,
    "check": CHECK,
    "opening_confusion": OPENING_CONFUSION,
    "confusion": CONFUSION,
    "acceptance": ACCEPTANCE,
    "chatter": CHATTER,
    "request": REQUEST,
    "lead": LEAD,
    "tail": TAIL,
    "commit_lead": COMMIT_LEAD,
    "commit_line": COMMIT_LINE,
}

PROBE_FAMILIES: dict[str, tuple[str, ...]] = {
    "mixture_work": MIXTURE_WORK,
    "blend_work": BLEND_WORK,
    "motion_work": MOTION_WORK,
    "unmarked_end": UNMARKED_END,
    "marked_end": COMMIT_LINE,
    "commitment": COMMITMENT,
    "no_commitment": NO_COMMITMENT,
}
