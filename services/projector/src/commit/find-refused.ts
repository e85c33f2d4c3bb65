import type { Address } from '@makerbook/contracts-primitives';
import { FatalError, RetryableError } from '@makerbook/kafka';
import { InvariantBroken, type Postgres, type ProjectionCommit, saveProjection } from '@makerbook/postgres';
import { rowsOf } from './describe-rows.js';
import type { Changes } from './gather-changes.js';

/**
 * Finds the makers whose rows the read model does not take, one by one, and notes them. Nothing is written.
 * @returns what the commit has failed with: to be folded again without them, or fatal where no maker alone is refused
 * @throws PostgresUnavailable
 */
export async function findRefused(
  commit: ProjectionCommit,
  changes: Changes,
  refusal: InvariantBroken,
  refused: Map<Address, string>,
  postgres: Postgres,
): Promise<Error> {
  const found: Address[] = [];
  for (const maker of changes.makers) {
    const reason = await refusalOf(
      { ...commit, ...rowsOf(maker, changes, commit), quarantined: [], withdrawn: [] },
      postgres,
    );
    if (reason === undefined) continue;
    refused.set(maker, reason);
    found.push(maker);
  }
  if (found.length === 0) return new FatalError(refusal.message, { cause: refusal });
  return new RetryableError(`the rows of ${found.join(', ')} are refused: ${refusal.message}`, { cause: refusal });
}

async function refusalOf(commit: ProjectionCommit, postgres: Postgres): Promise<string | undefined> {
  const undo = new Error('undo');
  try {
    await postgres.transaction(async (query) => {
      await saveProjection({ query }, commit);
      throw undo;
    });
  } catch (error) {
    if (error instanceof InvariantBroken) return error.message;
    if (error !== undo) throw error;
  }
  return undefined;
}
