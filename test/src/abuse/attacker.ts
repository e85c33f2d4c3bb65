import { type Answers, attacks, type Target } from './attacks.js';

/**
 * Runs one attack in its own process, so that it takes nothing from the prober's. Sends its answers when told to end.
 */
process.once('message', async ({ name, target }: { readonly name: string; readonly target: Target }) => {
  const answers: Answers = {};
  const ending = new AbortController();
  process.once('message', () => ending.abort());
  await attacks[name]?.run(target, answers, ending.signal);
  process.send?.(answers, () => process.exit(0));
});
// End if the parent was killed.
process.once('disconnect', () => process.exit(1));
