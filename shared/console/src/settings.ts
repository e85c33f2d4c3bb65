import { choice, entries, port } from '@makerbook/settings';

/** The settings of the service that serves the console. */
export const consoleSettings = {
  CONSOLE: choice(
    '`on` serves the page `/console`, and the book for it, at a port for operators',
    ['off', 'on'],
    'off',
  ),
  CONSOLE_PORT: port('That port', 9091),
  CONSOLE_METRICS: entries(
    'The processes that the console shows: `name=http://host:port` of each ops port, comma-separated. The one named `query` is asked for timelines, makers and fills',
    /^([\w.-]+)=(https?:\/\/.+)$/,
  ),
  CONSOLE_LINKS: entries(
    'Pages elsewhere that it links: `kind=address`, comma-separated, with `{}` in place of what it is about; kinds are `runbook` (a section of `deploy/runbooks/alerts.md`), `block`, `transaction` and `request`',
    /^(runbook|block|transaction|request)=(.+)$/,
  ),
};
