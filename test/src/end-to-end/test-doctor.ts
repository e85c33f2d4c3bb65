import { test } from '@jest/globals';
import { outputOf } from '../examples/run-commands.js';
import { eventually } from '../kit/eventually.js';
import type { WholeStack } from './open-whole.js';

interface Told {
  readonly findings: readonly { readonly verdict: string; readonly what: string }[];
}

/** Tests what the doctor tells an operator about a stack. */
export function testDoctor(whole: () => WholeStack): void {
  test('npm run doctor finds nothing wrong with a stack that works, its processes included', async () => {
    const env = { MAKERBOOK_DATA: whole().stack.folder };
    const ask = async () => {
      const { findings } = JSON.parse(await outputOf('npm run doctor -- --json || true', env)) as Told;
      // Ignore how full the disk of this machine is.
      const wrong = findings.filter(({ verdict, what }) => verdict === 'wrong' && !what.startsWith('disk of '));
      const parts = [
        'chain-watcher: ok',
        'projector: ok',
        'Publishing watchers: 1',
        'contracts at ',
        'rights: 4 roles',
      ];
      const missing = parts.filter((part) => !findings.some(({ what }) => what.startsWith(part)));
      return [...wrong.map(({ what }) => what), ...missing.map((part) => `it does not tell ${part}`)];
    };
    await eventually(ask, []);
  });
}
