import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { findPrograms } from './find-programs.js';
import { planNetwork } from './plan-network.js';

const key = (digit: string) => `0x${digit.repeat(64)}`;
const plan = planNetwork('/data', {
  keys: { validator: key('1'), proxy: key('2'), endpoint: key('3') },
  ports: { validator: 1, proxy: 2, endpoint: 3, rpc: 4, ws: 5 },
  kafkaBrokers: '127.0.0.1:6',
  rewards: `0x${'4'.repeat(40)}`,
});
const argOf = (at: number, name: string) => plan[at]?.args[plan[at].args.indexOf(`--${name}`) + 1];

describe('a private network of Kaia', () => {
  test('has an endpoint node behind a proxy node behind a validator', () => {
    expect(plan.map(({ program }) => program)).toEqual(['kcn', 'kpn', 'ken']);
    expect(plan.map(({ peers }) => peers.map((peer) => peer.replace(/kni:..([0-9a-f]{128})@/, '')))).toEqual([
      [],
      ['127.0.0.1:1?discport=0&ntype=cn'],
      ['127.0.0.1:2?discport=0&ntype=pn'],
    ]);
    expect(plan.map((_, at) => argOf(at, 'port'))).toEqual(['1', '2', '3']);
    // Kaia's own network has this id, and its nodes another first block.
    for (const at of [0, 1, 2]) expect(argOf(at, 'networkid')).not.toBe('8217');
  });

  test('writes blocks to Kafka as KAIA.md says', () => {
    expect(argOf(2, 'chaindatafetcher.kafka.brokers')).toBe('127.0.0.1:6');
    expect(argOf(2, 'chaindatafetcher.kafka.segment.size')).toBe('900000');
    expect(argOf(2, 'gcmode')).toBe('archive');
  });
});

describe('the programs of a release', () => {
  const folderOf = (versions: Readonly<Record<string, string>>) => {
    const folder = mkdtempSync(join(tmpdir(), 'kaia-bin-'));
    for (const [name, version] of Object.entries(versions)) {
      writeFileSync(join(folder, name), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
    }
    return folder;
  };
  const release = { homi: '-', kcn: 'Kaia v2.2.1', kpn: 'Kaia v2.2.1', ken: 'Kaia v2.2.1' };

  test('tell their version', () => {
    expect(findPrograms(folderOf(release)).version).toBe('v2.2.1');
  });

  test.each([
    ['all that is missing', { kcn: 'Kaia v2.2.1', ken: 'Kaia v2.2.1' }, /has no homi, no kpn$/],
    ['a version that is not told', { ...release, kpn: 'hello' }, /kpn does not tell its version: hello$/],
    ['several releases', { ...release, ken: 'Kaia v2.3.0' }, /several releases: v2.2.1, v2.2.1, v2.3.0$/],
  ])('are refused with a message about %s', (_what, versions, message) => {
    expect(() => findPrograms(folderOf(versions))).toThrow(message);
  });

  test('are refused without a folder', () => {
    expect(() => findPrograms('')).toThrow('KAIA_BIN is missing');
  });
});
