import { describe, expect, test } from '@jest/globals';
import { readSettings } from '@makerbook/settings';
import { loadSettings, type Spec } from './load-settings.js';
import { overlays, readOverlay } from './read-manifests.js';
import { type Pod, readEnvironmentOf, readPods } from './read-pods.js';

/** Read by Node.js or by OpenTelemetry, and by no service. */
const ofOthers = /^(NODE_OPTIONS|OTEL_.+)$/;

/** What a Secret may hold: the form of it is the setting's affair, and any text does for most. */
const secrets: Readonly<Record<string, string>> = { RPC_URL: 'https://node.example.com' };

const settingsOf = ({ service, spec }: Pod): Promise<Spec> => loadSettings(service, spec.containers[0]?.args?.[0]);

describe.each(overlays)('the overlay %s', (overlay) => {
  const manifests = readOverlay(overlay);
  const pods = readPods(manifests).filter(({ service }) => service !== 'redis');

  test.each(pods.map((pod) => [pod.owner, pod] as const))('%s starts with settings that it takes', async (_, pod) => {
    const settings = await settingsOf(pod);
    for (const container of pod.spec.containers) {
      const environment = readEnvironmentOf(container, manifests, (name) => secrets[name] ?? 'secret');
      expect(() => readSettings(settings, environment)).not.toThrow();
    }
  });

  test.each(pods.map((pod) => [pod.owner, pod] as const))('%s is given nothing that nobody reads', async (_, pod) => {
    const settings = await settingsOf(pod);
    const own = pod.spec.containers.flatMap(({ env = [] }) => env.map(({ name }) => name));
    expect(own.filter((name) => !(name in settings) && !ofOthers.test(name))).toEqual([]);
  });

  test('what all share is read by some', async () => {
    const known = await Promise.all(pods.map(settingsOf));
    const shared = manifests.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('settings-'),
    );
    const names = Object.keys(shared?.data ?? {});
    expect(names).toContain('PARTITIONS');
    expect(names.filter((name) => !known.some((settings) => name in settings))).toEqual([]);
  });

  test('what is a secret comes out of a Secret', async () => {
    for (const pod of pods) {
      const settings = await settingsOf(pod);
      for (const { name, value } of pod.spec.containers.flatMap(({ env = [] }) => env))
        expect([pod.owner, name, settings[name]?.secret === true && value !== undefined]).toEqual([
          pod.owner,
          name,
          false,
        ]);
    }
  });
});
