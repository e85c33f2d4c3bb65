import { type Cause, cancelKeysSet, fillCapSet, type MakerFact, switchSet } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import { isCapOn } from './fill-caps.js';
import { hasSameLimits, type Maker } from './maker.js';
import { orderToBody } from './order.js';
import type { Instruction } from './standing.js';

/**
 * Returns the facts that a maker's rows have beyond a log that was restored from an older archive: operators'
 * decisions, keys, switch, caps and open orders. The chain repeats the rest. The caller handles orders that have ended,
 * and the admission: no maker is routed before it could repeat its cancellations.
 * @param kept the maker by the rows
 * @param restored the maker by the log
 * @param isNewer the log has no fact of the partition that the rows lack
 */
export function factsBeyond(kept: Maker, restored: Maker, isNewer: boolean, cause: Cause): MakerFact[] {
  const { maker } = kept;
  const facts: MakerFact[] = [];
  if (isNewer) {
    if (kept.admission === 'SUSPENDED') facts.push({ type: 'MakerSuspended', maker, cause });
    if (kept.admission === 'REMOVED') facts.push({ type: 'MakerRemoved', maker, cause });
    if (!hasSameLimits(kept.limits, restored.limits))
      facts.push({ type: 'MakerLimitsSet', maker, limits: kept.limits, cause });
  }
  facts.push(...exitsBeyond(kept, restored, cause));
  for (const [orderHash, { order, signature, byWallet, acceptedAtMs }] of kept.orders) {
    if (restored.orders.has(orderHash)) continue;
    const signed = { order: orderToBody(order), signature, ...(byWallet && { byWallet: true as const }) };
    facts.push({ type: 'OrderSubmitted', maker, orderHash, ...signed, acceptedAtMs, cause });
  }
  return facts;
}

/** Puts keys before a switch that one of them has signed. */
function exitsBeyond({ maker, exits: kept }: Maker, { exits: restored }: Maker, cause: Cause): MakerFact[] {
  const facts: MakerFact[] = [];
  const { cancelKeys: keys, readKeys, keysIssuedAtMs, cancelAt, switchIssuedAtMs, switchKey } = kept;
  const hasNewKeys = keysIssuedAtMs > restored.keysIssuedAtMs;
  if (hasNewKeys)
    facts.push({ type: 'CancelKeysSet', maker, keys: [...keys], ...readKeys, issuedAtMs: keysIssuedAtMs, cause });
  // The log gets the new keys too, so the time of a switch whose key they revoke no longer counts there.
  const isRevoked = hasNewKeys && restored.switchKey !== null && !keys.includes(restored.switchKey);
  const beforeMs = isRevoked ? 0 : restored.switchIssuedAtMs;
  const isOther = hasNewKeys && switchIssuedAtMs === 0 && cancelAt !== restored.cancelAt;
  if (switchIssuedAtMs > beforeMs || isOther) {
    const issuedAtMs = Math.max(switchIssuedAtMs, beforeMs + 1);
    facts.push({ type: 'SwitchSet', maker, cancelAt, issuedAtMs, ...(switchKey && { key: switchKey }), cause });
  }
  const before = new Map(restored.caps.map(({ token, issuedAtMs }) => [token, issuedAtMs]));
  // Removed caps come first, to make room.
  for (const cap of kept.caps.toSorted((a, b) => Number(isCapOn(a)) - Number(isCapOn(b)))) {
    const { token, amount, windowSeconds, issuedAtMs } = cap;
    if (issuedAtMs <= (before.get(token) ?? Number.NEGATIVE_INFINITY)) continue;
    facts.push({ type: 'FillCapSet', maker, token, amount, windowSeconds, issuedAtMs, cause });
  }
  return facts;
}

/**
 * The fact of a standing instruction whose maker has an answer, but which is not folded.
 * @throws ZodError if its terms are invalid
 */
export function factOfInstruction(maker: Address, instruction: Instruction, cause: Cause): MakerFact {
  const { subject, issuedAtMs, terms, key } = instruction;
  const said = { ...terms, maker, issuedAtMs, cause };
  if (subject === 'switch') return switchSet.parse({ type: 'SwitchSet', ...said, key });
  if (subject === 'keys') return cancelKeysSet.parse({ type: 'CancelKeysSet', ...said });
  return fillCapSet.parse({ type: 'FillCapSet', token: subject.replace('cap:', ''), ...said });
}
