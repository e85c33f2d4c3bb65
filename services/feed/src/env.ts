import {
  apiSettings,
  choice,
  document,
  entries,
  integer,
  kafkaSettings,
  limitSettings,
  marketSettings,
  opsSettings,
  port,
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
  BOOK_READERS: document('Who may read, as [JSON](#readers); empty: anyone', ''),
  STREAMS_MAX: integer('Streams and snapshots of one process', 2000, { min: 1 }),
  SNAPSHOTS_MAX: integer('Snapshots that one process sends at once; a reader has half of them at most', 4, { min: 1 }),
  RECENT_BYTES_MAX: integer('The newest records, kept for streams that are resumed or slow', 67_108_864, {
    min: 1_048_576,
  }),
  FILLS_MAX: integer('The newest fills, kept for pages of them', 20_000, { min: 1 }),
  STALE_SECONDS_MAX: integer('Orders of a partition with an older clock are in no ladder and no quote', 5, { min: 1 }),
  CONSOLE: choice(
    '`on` serves the page `/console`, and the book for it, at a port for operators',
    ['off', 'on'],
    'off',
  ),
  CONSOLE_PORT: port('That port', 9091),
  CONSOLE_METRICS: entries(
    'The processes that the console shows: `name=http://host:port` of each ops port, comma-separated. The one named `query` is asked for timelines and makers',
    /^([\w.-]+)=(https?:\/\/.+)$/,
  ),
  CONSOLE_LINKS: entries(
    'External pages that it links to: `kind=address`, comma-separated, with `{}` in place of the id; kinds are `runbook` (a section of `deploy/runbooks/alerts.md`), `block`, `transaction` and `request`',
    /^(runbook|block|transaction|request)=(.+)$/,
  ),
  ...telemetrySettings,
};

export type FeedSettings = SettingsOf<typeof feedSettings>;
