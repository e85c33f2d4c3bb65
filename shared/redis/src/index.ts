export * from './cache-lists.js';
export * from './cancel-orders.js';
export * from './connect.js';
export {
  type Budget,
  createReplayGuard,
  type ReplayGuard,
  type ReplayGuardOptions,
  type Taken,
} from './guard-replays.js';
export * from './hold-lists.js';
export * from './keys.js';
export * from './list-value.js';
export * from './load-reservations.js';
export * from './refresh-partition.js';
export {
  type OrderToReserve,
  type ReserveOrders,
  type ReserveOutcome,
  type ReservingMaker,
  reserveOrders,
} from './reserve-orders.js';
export * from './settle-reservation.js';
