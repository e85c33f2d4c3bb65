import { expect, test } from '@jest/globals';
import {
  apiSettings,
  feedSettings,
  limitSettings,
  readSettings,
  signingSettings,
  variablesOf,
} from '@makerbook/settings';
import { describeSettings, sharedSettings } from '@makerbook/settings/testing';
import { loadSettings, type Spec } from './load-settings.js';
import { readText } from './read-manifests.js';
import { findSecret, isOurs, type Pod, readEnvironmentOf, readPods } from './read-pods.js';
import { describeOverlays } from './testing/describe-overlays.js';
import { makeSecrets } from './testing/make-secrets.js';

/** Variables that Node.js or OpenTelemetry read, and no service. */
const ofOthers = /^(NODE_OPTIONS|OTEL_.+)$/;

/** A sample of the Secret that CloudNativePG makes. */
const ofOperators: Readonly<Record<string, string>> = { 'postgres-app/password': 'secret' };

const variablesIn = (settings: Spec): Set<string> =>
  new Set(Object.entries(settings).flatMap(([name, setting]) => variablesOf(name, setting)));

const settingsOf = ({ service, spec }: Pod): Promise<Spec> => loadSettings(service, spec.containers[0]?.args?.[0]);

describeOverlays((manifests, overlay) => {
  const pods = readPods(manifests).filter(isOurs);
  const made = makeSecrets(overlay);

  test.each(pods)('$owner accepts the settings that it is given', async (pod) => {
    const settings = await settingsOf(pod);
    for (const container of pod.spec.containers) {
      const environment = readEnvironmentOf(container, manifests);
      const read = (file: string) => {
        const secret = findSecret(pod, file);
        const value = made.get(secret) ?? ofOperators[secret];
        if (value === undefined) throw new Error(`nobody makes ${secret}`);
        return value;
      };
      expect(() => readSettings(settings, environment, read)).not.toThrow();
    }
  });

  test.each(pods)('$owner is given no variable that nobody reads', async (pod) => {
    const variables = variablesIn(await settingsOf(pod));
    const own = pod.spec.containers.flatMap(({ env = [] }) => env.map(({ name }) => name));
    expect(own.filter((name) => !variables.has(name) && !ofOthers.test(name))).toEqual([]);
  });

  test.each([
    ['ingress', { ...limitSettings, ...apiSettings, ...signingSettings }],
    ['projector', feedSettings],
  ])('the settings that %s uses are those that query describes', (service, spec) => {
    const [followed, described] = [service, 'query'].map((wanted) => {
      const container = pods.find((pod) => pod.service === wanted)?.spec.containers[0];
      if (container === undefined) throw new Error(`there is no ${wanted}`);
      return readSettings(spec, readEnvironmentOf(container, manifests));
    });
    expect(described).toEqual(followed);
  });

  test('every shared setting is read by some pod', async () => {
    const known = (await Promise.all(pods.map(settingsOf))).map(variablesIn);
    const shared = manifests.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('settings-'),
    );
    const names = Object.keys(shared?.data ?? {});
    expect(names).toContain('PARTITIONS');
    expect(names.filter((name) => !known.some((variables) => variables.has(name)))).toEqual([]);
  });

  test('a file that a setting names is mounted from a Secret', async () => {
    for (const pod of pods) {
      const variables = variablesIn(await settingsOf(pod));
      for (const container of pod.spec.containers)
        for (const [name, value] of Object.entries(readEnvironmentOf(container, manifests)))
          if (name.endsWith('_FILE') && variables.has(name)) expect(() => findSecret(pod, value)).not.toThrow();
    }
  });

  test('no variable holds a secret, and an address without a password is not one', async () => {
    for (const pod of pods) {
      const settings = await settingsOf(pod);
      for (const container of pod.spec.containers)
        for (const [name, value] of Object.entries(readEnvironmentOf(container, manifests))) {
          const isAddress = name === 'DATABASE_URL' && new URL(value).password === '';
          expect([pod.owner, name, settings[name]?.secret === true && !isAddress]).toEqual([pod.owner, name, false]);
        }
    }
  });

  test('production encrypts its connections to Kafka, Postgres and Redis, and names a CA file for each', () => {
    if (overlay === 'small') return;
    const shared = manifests.find(({ metadata }) => metadata.name.startsWith('settings-'))?.data ?? {};
    for (const server of ['KAFKA', 'DATABASE', 'REDIS']) {
      expect(shared).toMatchObject({ [`${server}_TLS`]: 'on', [`${server}_TLS_CA_FILE`]: expect.any(String) });
    }
  });
});

test.each(['chain-watcher', 'feed', 'ingress', 'operator', 'projector', 'query'])(
  'the README of %s has every setting with its default and meaning, and no other',
  async (service) => {
    const readme = readText(`services/${service}/README.md`);
    expect(`${readme}\n`).toContain(`\n${describeSettings(await loadSettings(service))}\n\n`);
  },
);

test("the operator's README has every setting of its doctor", async () => {
  expect(readText('services/operator/README.md')).toContain(describeSettings(await loadSettings('operator', 'doctor')));
});

test('the migrate command takes the shared settings of Postgres, and its README links to them', async () => {
  expect(await loadSettings('operator', 'migrate')).toEqual(sharedSettings['Postgres']);
  expect(readText('services/operator/README.md')).toContain('[Postgres](../../shared/settings/README.md#postgres)');
});
