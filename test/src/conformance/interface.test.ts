import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { examples } from '@makerbook/contracts-http';
import { findRoot } from './find-root.js';

const root = findRoot();
const text = readFileSync(join(root, 'contracts/http/README.md'), 'utf8');

test('the limits in the guide are those of the settings and of the example of /info', async () => {
  const fallbacks = new Map<string, string | undefined>();
  for (const [service, name] of [
    ['ingress', 'ingressSettings'],
    ['query', 'querySettings'],
    ['projector', 'projectorSettings'],
  ] as const) {
    const module = (await import(join(root, `services/${service}/dist/env.js`))) as Record<string, unknown>;
    const settings = module[name] as Record<string, { readonly fallback: string | undefined }>;
    for (const [setting, { fallback }] of Object.entries(settings)) fallbacks.set(setting, fallback);
  }
  const rows = [...text.matchAll(/^\| .+ \| `([\w.]+)` \| `([A-Z_]+)` \| (\d+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(12);
  for (const [, field = '', setting = '', value] of rows) {
    expect({ setting, value: fallbacks.get(setting) }).toEqual({ setting, value });
    const shown = field.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], {
      ...examples.info.limits,
    });
    expect({ field, value: String(shown) }).toEqual({ field, value });
  }
});
