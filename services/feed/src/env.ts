import { consoleSettings } from '@makerbook/console';
import {
  apiSettings,
  credential,
  integer,
  kafkaSettings,
  limitSettings,
  marketSettings,
  opsSettings,
  type SettingsOf,
  telemetrySettings,
} from '@makerbook/settings';

export const feedSettings = {
  ...opsSettings,
  ...apiSettings,
  ...kafkaSettings,
  ...marketSettings,
  BODY_BYTES_MAX: limitSettings.BODY_BYTES_MAX,
  CLIENT_REQUESTS_MAX: limitSettings.CLIENT_REQUESTS_MAX,
  BOOK_READERS: credential('Who may read, as [JSON](#readers); empty: anyone', ''),
  STREAMS_MAX: integer('Streams and snapshots of one process', 2000, { min: 1 }),
  SNAPSHOTS_MAX: integer('Snapshots that one process sends at once; a reader has half of them at most', 4, { min: 1 }),
  RECENT_BYTES_MAX: integer('The newest records, kept for streams that are resumed or slow', 67_108_864, {
    min: 1_048_576,
  }),
  STALE_SECONDS_MAX: integer('Orders of a partition with an older clock are in no ladder and no quote', 5, { min: 1 }),
  ...consoleSettings,
  ...telemetrySettings,
};

export type FeedSettings = SettingsOf<typeof feedSettings>;
