import { breakPromise, type Defect } from './find-defect.js';
import { PlacementsInMemory } from './hold-placements.js';
import { Clocks } from './run-processes.js';

/** Mistakes in what requests are decided by, and in how that is stored. */
export const placementDefects: readonly Defect[] = [
  { name: 'a look-up that answered unknown leaves no note', plant: breakPromise(PlacementsInMemory, 'ignoresNotes') },
  {
    name: 'requests are decided before the rows can be trusted',
    plant: breakPromise(PlacementsInMemory, 'ignoresTrust'),
  },
  { name: 'an order in flight leaves no row', plant: breakPromise(PlacementsInMemory, 'forgetsPlacements') },
  { name: 'an order is replaced twice', plant: breakPromise(PlacementsInMemory, 'ignoresMarks') },
  { name: 'an instruction on its way is not known', plant: breakPromise(PlacementsInMemory, 'ignoresInstructions') },
  { name: 'an order is replaced whose fill was seen', plant: breakPromise(PlacementsInMemory, 'hidesFills') },
  { name: 'a cancellation leaves no mark', plant: breakPromise(PlacementsInMemory, 'forgetsMarks') },
  { name: 'a charge is not stored', plant: breakPromise(PlacementsInMemory, 'forgetsCharges') },
  {
    name: 'a budget is refilled by the clock of each process',
    plant: breakPromise(PlacementsInMemory, 'usesProcessClocks'),
  },
  { name: 'a write does not compare versions', plant: breakPromise(PlacementsInMemory, 'ignoresVersions') },
  { name: 'an order in flight is not counted', plant: breakPromise(PlacementsInMemory, 'ignoresInFlight') },
  { name: 'an open order is not counted', plant: breakPromise(PlacementsInMemory, 'ignoresOpen') },
  { name: 'a hash is told unknown and placed', plant: breakPromise(PlacementsInMemory, 'ignoresRaces') },
  {
    name: 'an order in flight is told as a duplicate',
    plant: breakPromise(PlacementsInMemory, 'tellsInFlightAsStored'),
  },
  {
    name: 'a write that was overtaken counts as stored',
    plant: breakPromise(PlacementsInMemory, 'tellsOvertakenAsStored'),
  },
  {
    name: 'the orders of a replacement are placed without its cancellations',
    plant: breakPromise(PlacementsInMemory, 'splitsGroups'),
  },
  { name: 'what is decided too late is appended', plant: breakPromise(Clocks, 'stand') },
];
