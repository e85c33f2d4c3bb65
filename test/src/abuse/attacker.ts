import { type Answers, attacks, type Target } from './attacks.js';

/** The process of one attack, so that it takes nothing from the prober's. It prints its answers when it is to end. */
process.once('message', async ({ name, target }: { readonly name: string; readonly target: Target }) => {
  const answers: Answers = {};
  const ending = new AbortController();
  process.once('message', () => ending.abort());
  await attacks[name]?.run(target, answers, ending.signal);
  process.send?.(answers, () => process.exit(0));
});
// Its parent was killed.
process.once('disconnect', () => process.exit(1));
