import { unlessAway } from '@makerbook/contracts-primitives';
import { markOfExit, readKeysOf, subjectOf } from '@makerbook/domain';
import type { ApiRequest } from '@makerbook/http';
import { partitionOf } from '@makerbook/kafka';
import { cancelBudgetOf } from '@makerbook/whitelist';
import { settledMsOf } from '../limits.js';
import type { Exit, Instruction } from '../parse/read-exits.js';
import type { Parts } from '../parts.js';
import type { Decided } from './decide-together.js';

export type Judged = Pick<Decided, 'decisions' | 'refusal' | 'left' | 'isKnown'>;

/**
 * Decides whether a message is taken. Judges a repeated instruction again, because a newer one may have come.
 * @returns undefined while Postgres is down: a maker can always cancel
 */
export async function decideExit(
  { settings, makers, decide }: Pick<Parts, 'settings' | 'makers' | 'decide'>,
  { requestId, receivedAtMs }: ApiRequest,
  { fact }: Exit,
  isRepeat: boolean,
): Promise<Judged | undefined> {
  const { maker } = fact;
  const partition = partitionOf(maker, settings.PARTITIONS);
  const mark = markOfExit(fact);
  const budget = cancelBudgetOf(settings, makers.limitsOf(maker));
  const rules = { lastsMs: settledMsOf(settings), budget, maker, partition, mark };
  if (fact.type === 'OrdersCancelled') {
    if (isRepeat) return { decisions: [] };
    const request = { kind: 'cancel-all', ...rules, scope: fact } as const;
    return unlessAway(decide({ requestId, receivedAtMs, request }));
  }
  const key = fact.type === 'SwitchSet' ? fact.key : undefined;
  const instruction = { subject: subjectOf(fact), issuedAtMs: fact.issuedAtMs, terms: termsOf(fact), key };
  const request = { kind: 'instruction', ...rules, instruction, isRepeat } as const;
  return unlessAway(decide({ requestId, receivedAtMs, request }));
}

function termsOf(fact: Instruction): object {
  switch (fact.type) {
    case 'SwitchSet':
      return { cancelAt: fact.cancelAt };
    case 'CancelKeysSet':
      return { keys: fact.keys, ...readKeysOf(fact) };
    case 'FillCapSet':
      return { amount: fact.amount, windowSeconds: fact.windowSeconds };
  }
}
