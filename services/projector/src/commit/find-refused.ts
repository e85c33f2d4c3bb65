import type { Address } from '@makerbook/contracts-primitives';
import { RetryableError } from '@makerbook/kafka';
import { InvariantBroken, type ProjectionCommit, type ProjectionStore } from '@makerbook/postgres';
import { rowsOf } from './describe-rows.js';
import type { Changes } from './gather-changes.js';

/**
 * Finds the makers whose rows the read model does not take, one by one, and notes them. Nothing is written.
 * @returns what the commit has failed with: to be folded again without them; where no maker alone is refused, an error that is
 * retried some times only
 * @throws PostgresUnavailable, PositionTaken
 */
export async function findRefused(
  commit: ProjectionCommit,
  changes: Changes,
  refusal: InvariantBroken,
  refused: Map<Address, string>,
  store: Pick<ProjectionStore, 'tryProjection'>,
): Promise<Error> {
  const found: Address[] = [];
  for (const maker of changes.makers) {
    try {
      await store.tryProjection({ ...commit, ...rowsOf(maker, changes, commit) });
    } catch (error) {
      if (!(error instanceof InvariantBroken)) throw error;
      refused.set(maker, error.message);
      found.push(maker);
    }
  }
  if (found.length === 0) return new Error(refusal.message, { cause: refusal });
  return new RetryableError(`the rows of ${found.join(', ')} are refused: ${refusal.message}`, { cause: refusal });
}
