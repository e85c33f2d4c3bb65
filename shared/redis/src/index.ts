export * from './cache-lists.js';
export * from './cancel-orders.js';
export * from './connect.js';
export * from './guard-replays.js';
export * from './keys.js';
export { type JoinedRecords, joinRecords, type ListedOrder } from './list-entry.js';
export * from './load-reservations.js';
export * from './refresh-partition.js';
export {
  type Budget,
  type OrderToReserve,
  type ReserveOrders,
  type ReserveOutcome,
  type ReservingMaker,
  reserveOrders,
} from './reserve-orders.js';
export * from './settle-reservation.js';
