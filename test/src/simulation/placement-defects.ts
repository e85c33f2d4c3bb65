import { breakPromise, type Defect } from './find-defect.js';
import { planted } from './find-placements.js';
import { Clocks } from './run-processes.js';

/** Mistakes in what decides about requests, and in how decisions are stored. */
export const placementDefects: readonly Defect[] = [
  { name: 'a look-up that answered unknown leaves no note', plant: breakPromise(planted, 'ignoresNotes') },
  {
    name: 'requests are decided before the rows can be trusted',
    plant: breakPromise(planted, 'ignoresTrust'),
  },
  { name: 'an order in flight leaves no row', plant: breakPromise(planted, 'forgetsPlacements') },
  { name: 'an order is replaced twice', plant: breakPromise(planted, 'ignoresMarks') },
  { name: 'an instruction on its way is not known', plant: breakPromise(planted, 'ignoresInstructions') },
  { name: 'an order is replaced whose fill was seen', plant: breakPromise(planted, 'hidesFills') },
  { name: 'a cancellation leaves no mark', plant: breakPromise(planted, 'forgetsMarks') },
  { name: 'a charge is not stored', plant: breakPromise(planted, 'forgetsCharges') },
  {
    name: 'a budget is refilled by the clock of each process',
    plant: breakPromise(planted, 'usesProcessClocks'),
  },
  { name: 'a write does not compare versions', plant: breakPromise(planted, 'ignoresVersions') },
  { name: 'an order in flight is not counted', plant: breakPromise(planted, 'ignoresInFlight') },
  { name: 'an open order is not counted', plant: breakPromise(planted, 'ignoresOpen') },
  { name: 'a hash is told unknown and placed', plant: breakPromise(planted, 'ignoresRaces') },
  {
    name: 'an order in flight is told as a duplicate',
    plant: breakPromise(planted, 'tellsInFlightAsStored'),
  },
  {
    name: 'a write that was overtaken counts as stored',
    plant: breakPromise(planted, 'tellsOvertakenAsStored'),
  },
  {
    name: 'the orders of a replacement are placed without its cancellations',
    plant: breakPromise(planted, 'splitsGroups'),
  },
  { name: "another maker's order is replaced", plant: breakPromise(planted, 'tellsOthersOrders') },
  {
    name: 'an unknown hash is not read once more after its note',
    plant: breakPromise(planted, 'readsOnce'),
  },
  { name: 'a hash that is remembered is placed again', plant: breakPromise(planted, 'forgetsHashes') },
  {
    name: 'orders of a maker in quarantine are placed',
    plant: breakPromise(planted, 'ignoresQuarantine'),
  },
  { name: 'an order in flight is not found by its salt', plant: breakPromise(planted, 'overlooksInFlight') },
  { name: 'an open order is counted twice', plant: breakPromise(planted, 'countsOpenTwice') },
  {
    name: 'an order is replaced that is filled between the read and the write',
    plant: breakPromise(planted, 'ignoresFills'),
  },
  { name: 'what is decided too late is appended', plant: breakPromise(Clocks, 'stand') },
];
