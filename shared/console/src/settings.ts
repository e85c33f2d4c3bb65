import { choice, list, type Setting } from '@makerbook/settings';
import type { Linked, Token } from './browser/state.js';

/** A list whose entries are of a pattern, parsed by its groups. */
function entries<T>(description: string, pattern: RegExp, parse: (groups: readonly string[]) => T): Setting<T[]> {
  const { schema, ...rest } = list(description, '');
  const error = `must be comma-separated entries like ${pattern.source}`;
  const checked = schema.refine((items) => items.every((item) => pattern.test(item)), { error });
  return { ...rest, schema: checked.transform((items) => items.map((item) => parse(pattern.exec(item) ?? []))) };
}

/** The settings of the service that serves the console. */
export const consoleSettings = {
  CONSOLE: choice('`on` serves the page `/console`', ['off', 'on'], 'off'),
  CONSOLE_METRICS: entries(
    'The processes that the console shows: `name=http://host:port` of each ops port, comma-separated. The one named `query` is asked for timelines and limits',
    /^([\w.-]+)=(https?:\/\/.+)$/,
    ([, name = '', url = '']) => ({ name, url }),
  ),
  CONSOLE_TOKENS: entries(
    'The tokens that it names: `SYMBOL:decimals:address`, comma-separated; others by address',
    /^([^:]+):(\d{1,2}):(0x[0-9a-fA-F]{40})$/,
    ([, symbol = '', decimals, address = '']): Token => {
      return { symbol, decimals: Number(decimals), address: address.toLowerCase() };
    },
  ),
  CONSOLE_LINKS: entries(
    'Pages elsewhere that it links: `kind=address`, comma-separated, with `{}` in place of what it is about; kinds are `runbook` (a section of `deploy/runbooks/alerts.md`), `block`, `transaction` and `request`',
    /^(runbook|block|transaction|request)=(.+)$/,
    ([, kind, address = '']) => [kind as Linked, address] as const,
  ),
};
