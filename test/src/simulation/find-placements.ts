import type { Hex } from '@makerbook/contracts-primitives';
import { type HashRows, hashKeyText } from '@makerbook/domain';
import type { FoundBySalt, WantedSalts } from '@makerbook/ingress';
import type { OrderRow } from '@makerbook/postgres';
import type { Tables } from '@makerbook/projector/testing';

/** Planted defects: each leaves out a rule. */
export const planted = {
  ignoresNotes: false,
  ignoresTrust: false,
  forgetsPlacements: false,
  forgetsMarks: false,
  forgetsCharges: false,
  ignoresMarks: false,
  ignoresInstructions: false,
  hidesFills: false,
  ignoresVersions: false,
  ignoresInFlight: false,
  ignoresRaces: false,
  ignoresOpen: false,
  tellsInFlightAsStored: false,
  tellsOvertakenAsStored: false,
  splitsGroups: false,
  usesProcessClocks: false,
  countsOpenTwice: false,
  ignoresFills: false,
  readsOnce: false,
  forgetsHashes: false,
  ignoresQuarantine: false,
  overlooksInFlight: false,
  tellsOthersOrders: false,
};

/** Finds the rows with this hash, of any maker. */
export function findRows(all: readonly Tables[], orderHash: Hex, notedUntilMs: number | undefined): HashRows {
  const isOfHash = (row: { readonly orderHash: Hex }) => row.orderHash === orderHash;
  const isHidden = planted.readsOnce && notedUntilMs !== undefined;
  const [order] = all.flatMap(({ orders }) => (isHidden ? undefined : orders.get(orderHash)) ?? []);
  const placed = all.flatMap(({ inFlight }) => [...inFlight.values()]).find(isOfHash);
  const hash = all
    .flatMap(({ hashes }) => [...hashes.values()])
    .find((row) => isOfHash(row) && row.state !== 'CANCELLED');
  const first = all.flatMap(({ orders }) => [...orders.values()]).find(({ maker }) => maker !== order?.maker);
  const keyOf = ({ maker, expiresAtSeconds }: { readonly maker: Hex; readonly expiresAtSeconds: number }) => {
    return { maker: planted.tellsOthersOrders ? (first?.maker ?? maker) : maker, expiresAtSeconds };
  };
  const open = order && { ...keyOf(order), salt: JSON.parse(`${order.recordStart}}`).order.salt };
  const inFlight = placed && { ...keyOf(placed), salt: placed.salt as Hex };
  const unfolded = hash?.state === 'UNFOLDED' && { ...keyOf(hash), salt: hash.salt as Hex };
  return {
    ...(open && { open }),
    ...(inFlight && { inFlight }),
    ...(unfolded && { unfolded }),
    isAccepted: hash !== undefined,
    ...(notedUntilMs !== undefined && { notedUntilMs }),
  };
}

/** A maker's orders with the given salts: open, in flight, or held by a quarantine. */
export function findSalted(all: readonly Tables[], { maker, salts, untilMs, lastsMs }: WantedSalts): FoundBySalt[] {
  const own = all.flatMap(({ orders, inFlight, hashes }) => [
    ...[...orders.values()]
      .filter(({ acceptedAtMs }) => acceptedAtMs <= untilMs)
      .map((order) => ({ ...order, salt: JSON.parse(`${order.recordStart}}`).order.salt as string })),
    ...[...inFlight.values()].filter((order) => !planted.overlooksInFlight && order.untilMs - lastsMs <= untilMs),
    ...[...hashes.values()].filter(({ state }) => state === 'UNFOLDED'),
  ]);
  const meant = own.filter((order) => order.maker === maker && salts.includes(order.salt as Hex));
  const marked = new Set(all.flatMap(({ cancelling }) => cancelling.map(hashKeyText)));
  return meant.map(({ orderHash, salt, expiresAtSeconds }) => {
    const isCancelling = marked.has(hashKeyText({ orderHash, maker }));
    return { orderHash, salt: salt as Hex, expiresAtSeconds, isCancelling };
  });
}

/** True if these orders were never more than VALIDATING. False if an order has a history without its opening. */
export function wereNeverInBook(history: Tables['history'], hashes: readonly Hex[]): boolean {
  return hashes.every((hash) => {
    const rows = history.filter(({ orderHash }) => orderHash === hash);
    const isOpened = rows.length === 0 || rows.some(({ happened }) => happened === 'OPENED');
    return isOpened && rows.every(({ status }) => status === 'VALIDATING');
  });
}

export function amountsOf({ makingAmount, remaining, expiresAtSeconds }: OrderRow) {
  const making = BigInt(makingAmount);
  return { making, remaining: planted.hidesFills ? making : BigInt(remaining), expiresAtSeconds };
}

export function listedOf({ orderHash, makingToken: making, acceptedAtMs, recordStart }: OrderRow) {
  return { orderHash, making, taking: JSON.parse(`${recordStart}}`).order.taking.token, acceptedAtMs };
}
