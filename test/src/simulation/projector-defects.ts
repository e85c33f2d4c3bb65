import { MakerDraft } from '@makerbook/domain';
import { LogInMemory } from '@makerbook/kafka/testing';
import { DueMakers, FactFeed, type PartitionState, RowCommitter, RowsInMemory } from '@makerbook/projector/testing';
import { breakPromise, type Defect, replaceIn } from './find-defect.js';
import type { RunOptions } from './simulate-service.js';

const nothing = () => () => undefined;

/** Leaves a rule out of every partition that is taken. */
function inState(
  change: (state: { -readonly [Key in keyof PartitionState]: PartitionState[Key] }) => void,
): RunOptions {
  return {
    onTaken: ({ owned }, partition) => {
      const taken = owned.get(partition)?.taken;
      if (taken !== undefined) change(taken.state);
    },
  };
}

export const projectorDefects: readonly Defect[] = [
  { name: 'what the feeds hold is published again after a crash', plant: breakPromise(LogInMemory, 'hidesFeedEnd') },
  {
    name: 'rows that are behind the feeds are skipped',
    options: inState((state) => {
      const { published } = state.rules;
      if (published !== undefined && published.offset >= state.nextOffset) {
        state.nextOffset = published.offset + 1n;
      }
    }),
    plant: nothing,
  },
  { name: 'rows are committed before the feeds are published', plant: breakPromise(LogInMemory, 'answersTooEarly') },
  {
    name: 'of several fills the last one alone is published',
    plant: replaceIn(FactFeed, 'fills', (fills, _, fact) => fills({ ...fact, fills: fact.fills?.slice(-1) })),
  },
  { name: 'a batch is published in parts', plant: breakPromise(LogInMemory, 'splitsTransactions') },
  {
    name: 'a released maker is not replayed',
    options: inState((state) => {
      const get = state.quarantined.get.bind(state.quarantined);
      state.quarantined.get = (maker) => {
        const quarantine = get(maker);
        return quarantine && { ...quarantine, offset: state.nextOffset };
      };
    }),
    plant: nothing,
  },
  {
    name: 'a maker in quarantine is folded',
    options: inState(({ quarantined }) => {
      quarantined.has = () => false;
    }),
    plant: nothing,
  },
  {
    name: 'orders of a suspended maker stay in the book',
    plant: replaceIn(MakerDraft, 'withhold', (withhold, _, order, reason) => {
      return reason === 'SUSPENDED' ? order : withhold(order, reason);
    }),
  },
  {
    name: 'a quarantine is forgotten where the partition is taken again',
    options: inState(({ quarantined }) => quarantined.clear()),
    plant: nothing,
  },
  {
    name: 'the fact that a maker was quarantined for is not parked',
    options: inState(({ toPark }) => {
      toPark.push = () => 0;
    }),
    plant: nothing,
  },
  {
    name: 'the clock of a block is published before its orders',
    plant: breakPromise(LogInMemory, 'publishesClocksFirst'),
  },
  {
    name: 'makers that are due by their rows are not known',
    options: inState((state) => {
      state.due = new DueMakers([]);
    }),
    plant: nothing,
  },
  {
    name: 'a maker that was dropped from memory is not looked for in what is not committed',
    plant: hideUncommitted({ makers: new Map() }),
  },
  {
    name: 'a hash is not looked for in what is not committed',
    plant: hideUncommitted({ hashes: new Map() }),
  },
  {
    name: 'rows are believed that this owner has not written',
    plant: replaceIn(RowCommitter, 'readRows', (readRows, _, read) => {
      return readRows(async (...from: unknown[]) => ({ ...(await read(...from)), positions: [] }));
    }),
  },
  {
    name: 'the commit does not ask for the position',
    plant: breakPromise(RowsInMemory, 'ignoresPositions'),
  },
];

/** Replaces these fields of all that is not committed. */
function hideUncommitted(fields: Partial<ReturnType<RowCommitter['uncommitted']>[number]>) {
  return replaceIn(RowCommitter, 'uncommitted', (uncommitted) => {
    return uncommitted().map((one: object) => Object.assign(Object.create(one), fields));
  });
}
