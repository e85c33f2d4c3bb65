import { describe, expect, test } from '@jest/globals';
import { rights, roleOf } from '@makerbook/postgres';
import { apiSettings, feedSettings, limitSettings, readSettings, signingSettings } from '@makerbook/settings';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { loadSettings } from './load-settings.js';
import { readText } from './read-manifests.js';

interface Service {
  readonly image: string;
  readonly build?: { readonly target: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
  readonly [field: string]: unknown;
}

/** Samples of the variables that the user must give. */
const given: Readonly<Record<string, string>> = {
  POSTGRES_PASSWORD: 'secret of the owner',
  INGRESS_PASSWORD: 'secret of ingress',
  QUERY_PASSWORD: 'secret of query',
  PROJECTOR_PASSWORD: 'secret of projector',
  CHAIN_WATCHER_PASSWORD: 'secret of chain-watcher',
  RPC_URL: 'https://node.example.com',
  LIMIT_ORDER_PROTOCOL_ADDRESS: `0x${'1'.repeat(40)}`,
  NAVIGATOR_ADDRESS: `0x${'2'.repeat(40)}`,
};
/** Fills in `${NAME:-otherwise}` and `${NAME:?why it is needed}`. */
const fill = (text: string) =>
  text.replace(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g,
    (_, name: string, otherwise?: string) => given[name] ?? otherwise ?? '',
  );

const file = parse(readText('deploy/compose/compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
};
const services = Object.entries(file.services);
const ours = services.filter(([, { build }]) => build !== undefined);

describe('the Compose file', () => {
  test('matches the schema of Compose', () => {
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, validateSchema: false });
    const validate = ajv.compile(JSON.parse(readText('deploy/checks/schema/compose-spec.json')) as object);
    validate(file);
    expect(validate.errors).toBeNull();
  });

  test.each(ours)(
    '%s accepts the settings that it is given, and is given none that it does not read',
    async (_, service) => {
      const settings = await loadSettings(service.build?.target ?? '', service.command?.[0]);
      const environment = Object.fromEntries(
        Object.entries(service.environment ?? {}).map(([name, value]) => [name, fill(value)]),
      );
      expect(() => readSettings(settings, environment)).not.toThrow();
      expect(Object.keys(environment).filter((name) => !(name in settings))).toEqual([]);
    },
  );

  test.each([
    ['ingress', { ...limitSettings, ...apiSettings, ...signingSettings }],
    ['projector', feedSettings],
  ])('the settings that %s uses are those that query describes', (service, spec) => {
    const [followed, described] = [service, 'query'].map((name) => {
      const given = Object.entries(file.services[name]?.environment ?? {}).map(([key, value]) => [key, fill(value)]);
      return readSettings(spec, Object.fromEntries(given));
    });
    expect(described).toEqual(followed);
  });

  test.each(ours)('%s has a read-only file system and no capability', (name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    expect(service.image).toMatch(new RegExp(`^makerbook/${service.build?.target}:`));
    expect(service.networks).toContain('inside');
    expect([name, service.ports]).toEqual([name, undefined]);
  });

  test('a service with rights in Postgres connects as its own role, and no other has a password', () => {
    const roles = readText('deploy/compose/roles.sql');
    for (const [name, { environment = {} }] of ours) {
      const role = roleOf(name);
      const [url, password] = [environment['DATABASE_URL'], fill(environment['DATABASE_PASSWORD'] ?? '')];
      if (name === 'migrate') expect(password).toBe('secret of the owner');
      else if (role in rights) {
        expect([url, password]).toEqual([`postgres://${role}@postgres:5432/makerbook`, `secret of ${name}`]);
        const variable = role.replace('makerbook_', '');
        expect(roles).toContain(`\\getenv ${variable} ${variable.toUpperCase()}_PASSWORD`);
        expect(roles).toMatch(new RegExp(`alter role ${role} connection limit \\d+ password :'${variable}';`));
        expect(file.services['roles']?.environment).toHaveProperty(`${variable.toUpperCase()}_PASSWORD`);
      } else expect([name, url, password]).toEqual([name, undefined, '']);
    }
  });

  test('services wait for the schema and the topics', () => {
    for (const [name, { depends_on }] of ours) {
      if (name === 'migrate' || name === 'topics') continue;
      const isDone = { condition: 'service_completed_successfully' };
      expect([name, depends_on]).toEqual([name, expect.objectContaining({ migrate: isDone, topics: isDone })]);
    }
  });

  test('only the gateway can be reached from outside', () => {
    expect(services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['gateway']);
    expect(file.networks['inside']?.internal).toBe(true);
  });

  test('with router.yaml Kafka can also be reached from this machine, at the address that it gives clients', () => {
    const { services: added } = parse(readText('deploy/compose/router.yaml')) as typeof file;
    expect(Object.keys(added)).toEqual(['kafka']);
    const environment = { ...file.services['kafka']?.environment, ...added['kafka']?.environment };
    const listed = (name: string) => fill(environment[name] ?? '').split(',');
    const listeners = Object.fromEntries(
      listed('KAFKA_LISTENERS').map((one) => [one.split('://')[0], one.split(':').at(-1)]),
    );
    const advertised = Object.fromEntries(
      listed('KAFKA_ADVERTISED_LISTENERS').map((one) => one.split('://') as [string, string]),
    );
    const protocols = listed('KAFKA_LISTENER_SECURITY_PROTOCOL_MAP').map((one) => one.split(':')[0]);
    expect(Object.keys(listeners).sort()).toEqual(protocols.sort());
    expect(advertised).toMatchObject({ PLAINTEXT: 'kafka:9092', HOST: '127.0.0.1:9094' });
    expect(added['kafka']?.ports?.map(fill)).toEqual([`${advertised['HOST']}:${listeners['HOST']}`]);
  });

  test('every image that is not ours has a version', () => {
    for (const [, { image, build }] of services) if (build === undefined) expect(image).toMatch(/:\d+\.\d+/);
  });
});

test('the gateway routes by method and path as deploy/routes.json says, in its order', () => {
  const { routes } = JSON.parse(readText('deploy/routes.json')) as {
    routes: { methods?: string[]; path: string; match: 'exact' | 'prefix'; service: string }[];
  };
  const wanted = routes.map(({ methods, path, match, service }) => {
    const before = methods === undefined ? '' : `^(${methods.join('|')})`;
    return `"~${before} ${path.replace('.', '\\.')}${match === 'prefix' ? '(/.*)?' : ''}$" ${service};`;
  });
  const conf = readText('deploy/compose/gateway/makerbook.conf');
  expect([...conf.matchAll(/^ {2}("~.* (?:ingress|query|feed);)$/gm)].map(([, line]) => line)).toEqual(wanted);
});
