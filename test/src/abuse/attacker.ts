import { type Answers, attacks, type Target } from './attacks.js';

/** The process of one attack, so that it takes nothing from the prober's. It says what it was answered when it is told to end. */
process.once('message', async ({ name, target }: { readonly name: string; readonly target: Target }) => {
  const answers: Answers = {};
  const ending = new AbortController();
  process.once('message', () => ending.abort());
  await attacks[name]?.run(target, answers, ending.signal);
  process.send?.(answers, () => process.exit(0));
});
// Whoever started it was killed.
process.once('disconnect', () => process.exit(1));
