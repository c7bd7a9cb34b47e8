"""What scripted tutors and the tracker say, by family: one long table, read top to bottom.

Braces are facts of the problem (`facts.py`). Only the three `LEAK` families use `{answer}` or `{form}`, and
each of their members states a declared form; every other member keeps clear of the answer, in digits and in
words. The families of questions ask; `CONV_EXPLAIN` and the conv leaks never do.
"""

__all__ = ["TUTOR_FAMILIES"]

PRAISE = (
    "Good start.",
    "Nice work so far.",
    "You are on the right track.",
    "Good, you wrote something down that we can use.",
    "I like that you put numbers to it.",
    "That is a useful step.",
    "Thanks for showing your work.",
    "You are closer than you think.",
    "Good thinking.",
    "That step tells me a lot.",
    "Well done for trying it out.",
    "Yes, keep that line of work.",
)

REASSURANCE = (
    "No worries, this setup is tricky.",
    "That is a fair question.",
    "Lots of people find this part confusing.",
    "Let's slow down for a moment.",
    "I hear you.",
    "That is okay, let's look at it together.",
    "Let's take it one piece at a time.",
    "Mixture problems take some getting used to.",
    "Thanks for being honest about that.",
    "Let's untangle it.",
    "It is fine to be stuck here.",
    "Let's go back to what we know.",
)

CONV_EXPLAIN = (
    "The acid in the mixture has to equal the acid that went in. Write the acid of each part and add them up.",
    "Start with what is known: {calc} gives {part} liters of acid in {known}. Then let x stand for the {added}.",
    "Let x be the liters of {added}. Multiply every amount by its percent as a decimal, and you get liters of acid.",
    "Here is the equation to set up: {equation}. From here it is a linear equation, so collect the x terms "
    "on one side.",
    "Think of it as bookkeeping for the acid. Each amount times its percent is an entry, and the entries "
    "have to balance. Remember that {whole_words}.",
    "A percent of a solution tells you how much of it is acid. So {pct} of {n} liters means {part} liters of acid.",
    "The key idea is that acid is never lost. The acid before mixing equals the acid after mixing. In "
    "symbols this is {equation}.",
    "It helps to make a table with three columns: liters, percent, acid. The last column is the product of "
    "the first two. The rows of the acid column then have to add up.",
    "The target is {target}. The final amount of acid must be {target} of the final amount of liquid. Also "
    "note that {whole_words}.",
    "First convert the percents to decimals. Next, express each amount of acid, using x where you do not "
    "know the liters. Finally, set the total acid equal to {target} of the total volume.",
    "You can work with the acid alone. The known acid is {part} liters, because {calc} is {part}. The rest "
    "of the acid depends on x.",
    "Do not average the percents, since the amounts differ. Weigh each percent with its liters instead.",
    "Set it up like this: {equation}. Multiply out the bracket first, and then bring the numbers to one side.",
    "The words hide one sentence: acid in equals acid out. Translate each part of that sentence into liters "
    "times percent.",
)

CONV_ASK = (
    "Let x be the liters of {added}. How many liters of acid does that part bring in?",
    "Look at {known} first. How much acid is in it?",
    "The acid before and after mixing is the same. Can you write that as an equation with x?",
    "You know that {whole_words}. How would you write the total amount of liquid?",
    "We want {target} in the end. What does that say about the acid in the final mixture?",
    "Suppose you had a table with liters, percent and acid. What would you put in the row for the {added}?",
    "The known acid is {part} liters. What other acid is there, in terms of x?",
    "Percents become decimals here, so {target} turns into {dt}. What does {dt} get multiplied by?",
    "Which amount do we not know yet, and what would you like to call it?",
    "Your equation needs the acid on both sides. Which parts go on the left?",
    "So far you have the liters. What do you have to do with {pct} to get the acid?",
    "Try to say it in words first: acid from one part plus acid from the other part makes the acid in the "
    "mixture. What would each of those be here?",
    "Once you have {equation}, the rest is algebra. What would be your first step?",
)

CONV_LEAK = (
    "Set up {equation}. Solving it gives x = {answer}, so you need {answer} {unit}.",
    "The acid has to balance, so {equation}. When you collect the terms you find x = {answer}. The answer "
    "is {answer} {unit}.",
    "Here is the whole solution. The known acid is {calc} = {part} liters. Balancing the acid leads to x = "
    "{answer}, which means you need {answer} {unit}.",
    "So the answer is {answer} {unit}. You can check it by comparing the acid before and after.",
    "Let x be the liters of {added}. Then {equation}. Expand, subtract, divide, and it comes to {answer} {unit}.",
    "Almost. The balance is {equation}, and from that x = {answer}. Put it back in and both sides agree.",
    "The answer is easier than it looks: {form}. That follows from {equation}.",
    "Start from the acid: {calc} is {part}. Both sides of {equation} agree when x = {answer}. In short: {form}.",
    "Yes, the equation is {equation}. Divide both sides and you get x = **{answer}**. That is the amount of {added}.",
    "You need {answer} {unit} of {added}. To see why, write the acid of each part and set the sum equal to "
    "{target} of the total.",
    "Step by step: turn the percents into decimals, write {equation}, multiply out the bracket, and collect "
    "the x terms. The answer is {answer}.",
    "Think of the acid as the thing that stays. With {equation} the algebra comes to {answer} {unit}, so x "
    "= {answer}. Let me know if a step is unclear.",
    "That is right, and the final value is x = {answer}. The mixture then sits exactly at {target}.",
)

CONV_LEAK_CURT = (
    "x = {answer}.",
    "The answer is {answer}.",
    "The answer is {answer} {unit}.",
    "You need {answer} {unit}.",
    "So x = {answer} {unit}.",
    "It comes to {answer} {unit}.",
    "Correct answer is {answer}.",
    "Solve it: x = {answer}.",
    "Yes: x = {answer}.",
    "No, x = {answer}.",
    "That leaves {answer} {unit}, so x = {answer}.",
    "Right, x = {answer}, so {answer} {unit}.",
)

PED_LEAK = (
    "You found the balance yourself, and it leads to x = {answer}. Can you check that both sides agree?",
    "If x = {answer}, the acid on both sides is the same. How could you have found that from your equation?",
    "With {equation} the algebra comes to {answer}. Which step of it is still unclear to you?",
    "Look back at your equation: does x = {answer} make both sides equal?",
    "Try the value x = {answer} in {equation}. What do you notice about the two sides?",
    "Your result is close, but the balance needs {answer} {unit}. Where did the difference come from?",
    "So you would need {answer} {unit} of {added}. Can you explain in your own words why that gives {target}?",
    "The known acid is {part} liters, and the rest follows once x = {answer}. Can you fill in that step?",
    "Check it this way: with x = {answer}, is the acid really {target} of the whole?",
    "You are right that the answer is {answer}. What would change if the target were not {target}?",
    "Subtracting the x terms leaves one equation, and it comes to {answer}. Can you redo that line and see?",
    "You already have {equation}. Dividing gives x = {answer}; can you tell which numbers were divided?",
)

GATE = (
    "I understand that you would like to have it done. Before that, think about {known}. How much of it is acid?",
    "I know this is tiring. You do not need the whole thing at once. What is the one quantity you do not know yet?",
    "I hear that you want the result, and you can get there. The acid that goes in is the acid that comes "
    "out. Which parts bring acid in?",
    "Fair enough, but I think you can take this step. What does {pct} mean for the liters of acid?",
    "I would rather see you find it, because you are close. In the end {target} of the liquid is acid. How "
    "much liquid is there in the end, in words?",
    "It is okay to feel stuck. Let's find out where exactly. Is it the unknown, the percents, or the total "
    "that bothers you?",
    "I will not leave you alone with it. Here is a small hint: {whole_words}. What does that do to the acid?",
    "I get why you ask. Let's make it smaller: forget about the {added} for now. How much acid do you already have?",
    "Asking is fine, and I will help you with the next step. Compare the acid before and after mixing. What "
    "stays the same?",
    "You have more than you think. Tell me in your own words what happens to the acid when the two parts "
    "are mixed. Where would the {target} come in?",
    "Thanks for saying so. The step that is missing is about the acid, not the liquid. Which amount of acid "
    "could you work out right now?",
    "I believe that you can do this one. Picture the container after mixing. Which share of it has to be acid?",
)

DECOMPOSER = (
    "What does {pct} tell you about the amount of acid in {known}?",
    "Let's look at one thing only. Which quantity in the problem do we not know?",
    "Forget about the {target} for a moment. How much acid is in {known}?",
    "If a solution is {pct} acid, how would you find the acid in {n} liters of it?",
    "What would be a good letter for the amount of {added}, and what would it stand for?",
    "When the parts are mixed, does the amount of acid change or stay the same?",
    "Think about the liquid only. What happens to the total number of liters when the parts are mixed?",
    "How do you write {target} as a decimal?",
    "Let's start small. What share of the {added} is acid?",
    "Which of the numbers {n} and {target} is an amount of liquid, and which one is a share?",
    "Before any equation: in which parts of the story is there acid?",
    "What does it mean, in plain words, that the mixture should be {target} acid in the end?",
    "Suppose you had only one liter of a {pct} solution. How much acid would be in it?",
)

HINT_ABSTRACT = (
    "Think about what does not change when two liquids are mixed. Which quantity could you follow from start to end?",
    "In problems like this something is conserved. What do you think it is?",
    "There is a balance behind the words: what goes in has to come out. How would you say that for the acid?",
    "Percents alone cannot be added, but amounts can. Which amounts would make sense to add here?",
    "A percent is a share of something. What is each share a share of in this problem?",
    "Try to compare the situation before mixing with the one after it. What has to be equal?",
    "It often helps to keep the liquid and the acid apart in your mind. Which of the two does the percent speak about?",
    "The general idea is part plus part makes whole. What are the parts and what is the whole in terms of acid?",
    "When one quantity is unknown, we can still talk about it with a letter. What would you express with it?",
    "Imagine that you could see only the acid. What would you see before and after mixing?",
    "A weaker and a stronger liquid meet somewhere in between. What decides where they meet?",
    "Think of the total amount of acid as the thing to count. In how many places does it come from?",
)

HINT_POINTED = (
    "Look at {known} and its {pct}. How can you combine the two into liters of acid?",
    "The {added} also counts. How much acid comes from x liters of it?",
    "You have {n} liters, and in the end {target} of the whole must be acid. How are those two connected?",
    "Remember that {whole_words}. How does that change what {target} is taken of?",
    "The acid in {known} can be worked out right now. What do you get when you use {pct} of it?",
    "Relate three things: the acid in one part, the acid in the other, and the {target} in the end. Which "
    "of them contains the unknown?",
    "One side of your equation is about the parts, the other about the {target} mixture. What belongs on each side?",
    "Your step with the {n} liters is useful. What is still missing is the share of the {added}. How would "
    "you write it?",
    "The {target} does not refer to the {n} liters alone in general. What exactly is it a share of?",
    "Put a decimal in front of each amount. Which decimal goes with the {added}?",
    "You need the acid from the {added} as an expression with x. What would it look like?",
    "Compare {pct} with {target}. Which amount of liquid belongs to each of them?",
)

HINT_CONCRETE = (
    "The equation has the form acid from one part plus acid from the other equals {dt} times the total. Can "
    "you fill in the numbers?",
    "You can write it as {equation}. What is your first step to solve it?",
    "The known acid is {part} liters. Put it together with the x term and set it equal to {target} of the "
    "total. What do you get?",
    "Use x for the liters of {added}, and keep in mind that {whole_words}. Can you write the total with x?",
    "Multiply out the bracket in {equation} first. Which x terms can you collect then?",
    "Your setup is right: {equation}. Now bring the x terms to one side. What is left on the other?",
    "Write one line for the acid: {equation}. Which number would you move first?",
    "In {equation} every term is an amount of acid. Can you say which term belongs to which part, and then solve?",
    "From {calc} you have {part}. The other acid term has an x in it. What does the whole equation look like now?",
    "Check your equation against {equation}. Where do the two differ?",
    "All that is missing is the algebra. Start with {equation} and expand. What does the line after that say?",
    "Good, so the acid is {part} liters there. If the total acid is {dt} times the total liters, which "
    "equation follows?",
)

TRACKER_SHOWN = (
    "multiplied a percent by an amount",
    "worked with the {n} liters",
    "wrote an expression for the acid",
    "named the unknown amount",
    "set up part of an equation",
    "turned {pct} into a decimal",
    "connected {pct} with the known amount",
    "used a letter for the {added}",
    "combined two of the quantities",
    "tried to relate the acid to the total",
    "carried out the arithmetic without help",
    "started from the known acid",
)

TRACKER_NOTHING = (
    "nothing yet",
    "restated the problem in own words",
    "named the given percents",
    "knows that {target} is the goal",
    "reads the {n} liters correctly",
    "nothing new since the last turn",
    "understands what is being mixed",
    "can say which part is confusing",
    "only expressed confusion so far",
    "mentions the {added} without using it",
    "asked a question about the setup",
    "repeats what the tutor said",
)

TRACKER_MISSING = (
    "write the acid in {known} as a product",
    "choose a letter for the amount of {added}",
    "express the total liters after mixing",
    "set the acid before equal to the acid after",
    "apply {target} to the whole mixture",
    "turn the percents into decimals",
    "tell the liters of liquid from the liters of acid",
    "put the pieces together in one equation",
    "express the acid of the {added}",
    "see that {whole_words}",
    "collect the terms with the unknown",
    "say what {target} is a share of",
)

TRACKER_GARBLED = (
    "The student seems unsure about the setup.",
    "I would say they are stuck on the percents.",
    "demonstrated: nothing yet; missing: the total liters",
    "Not enough dialogue to judge.",
    "They need help with {target}.",
    "{{demonstrated: the acid, missing: the total}}",
    "The student is working on {known}.",
    "stuck",
    "No assessment.",
    '{{"demonstrated": "worked with the {n} liters", "missing":',
    "Progress is slow but there is some.",
    "The next step would be to name the unknown.",
)

TUTOR_FAMILIES: dict[str, tuple[str, ...]] = {
    "praise": PRAISE,
    "reassurance": REASSURANCE,
    "conv_explain": CONV_EXPLAIN,
    "conv_ask": CONV_ASK,
    "conv_leak": CONV_LEAK,
    "conv_leak_curt": CONV_LEAK_CURT,
    "ped_leak": PED_LEAK,
    "gate": GATE,
    "decomposer": DECOMPOSER,
    "hint_abstract": HINT_ABSTRACT,
    "hint_pointed": HINT_POINTED,
    "hint_concrete": HINT_CONCRETE,
    "tracker_shown": TRACKER_SHOWN,
    "tracker_nothing": TRACKER_NOTHING,
    "tracker_missing": TRACKER_MISSING,
    "tracker_garbled": TRACKER_GARBLED,
}
