import { readText } from '@makerbook/deploy-checks';

export const profiles = ['small', 'production', 'chart'] as const;
export type Profile = (typeof profiles)[number];

/** Where the check keeps the files that an operator would have: overlays, the chart, values. */
export interface Places {
  /** The overlay as it is installed, and the one of the next release. */
  readonly overlay: string;
  readonly nextOverlay: string;
  readonly chart: string;
  readonly values: string;
  readonly nextValues: string;
}

/** Commands from the documents, ready for a shell. */
export interface Plan {
  readonly install: string;
  readonly release: string;
  readonly rollBack: string;
  /** Prints what an apply of the installed release would change. Undefined: Helm has no such command. */
  readonly diff: string | undefined;
  readonly uninstall: string;
  /** Scales each service to `REPLICAS`. */
  readonly scale: string;
  /** Drains the node `NODE`. */
  readonly drain: string;
  /** Gives the gateway another certificate and the watcher its node again, from files that variables name. */
  readonly renew: string;
  /** Stops the services, appends the archive to an empty log, and completes the log from the rows. */
  readonly stop: string;
  readonly restore: string;
  /** Waits until an empty Postgres has its tables. */
  readonly migrated: string;
  /** Takes orders again. */
  readonly resume: string;
  /** The operator's commands, and functions that look at a service. */
  readonly runbooks: string;
  /** The shell functions of the runbooks. */
  readonly functions: string;
}

const OVERLAY = 'deploy/k8s/overlays/small';
const README = 'deploy/k8s/README.md';
const OPERATIONS = 'deploy/runbooks/operations.md';
/** A maker that places nothing. */
const MAKER = `0x${'1'.repeat(40)}`;
/** Services that have one replica each in `small`. */
const DOUBLED = 'deploy/ingress deploy/query deploy/feed deploy/projector';
const CHART = 'oci://registry.example.com/charts/makerbook';

/** Collects from the documents the commands that the check runs. @throws if a document lacks such a command */
export function planCheck(profile: Profile, places: Places): Plan {
  const small = fenceWith(README, 'make-secrets.sh small');
  const wait = lineOf(small, 'rollout status');
  const shared = planLife(wait);
  const namespace = lineOf(small, 'kubectl apply -f deploy/k8s/base/namespace.yaml');
  const making = `make-secrets.sh ${profile === 'production' ? 'production' : 'small'}`;
  const secrets = withoutVariables(lineOf(fenceWith(README, making), making));
  const uninstall = lineOf(small, 'kubectl delete namespace');
  if (profile === 'chart') {
    const helm = fenceWith('deploy/helm/README.md', 'helm upgrade');
    const install = lineOf(helm, 'helm upgrade').replace(/ +#.*$/, '');
    const made = replaceIn(install, CHART, places.chart);
    const upgrade = (values: string) =>
      `${replaceIn(made, '-f values.yaml', `-f ${places.chart}/values-small.yaml -f ${values}`)}\n${wait}`;
    const jobs = inlineOf('deploy/helm/README.md', 'delete job');
    return {
      install: [`npm run chart -- ${places.chart}`, namespace, secrets, upgrade(places.values)].join('\n'),
      release: upgrade(places.nextValues),
      rollBack: upgrade(places.values),
      diff: undefined,
      uninstall: `helm uninstall makerbook -n makerbook\n${jobs}\n${uninstall}`,
      ...shared,
    };
  }
  const apply = replaceIn(lineOf(small, 'kubectl apply -k'), OVERLAY, places.overlay);
  const release = (overlay: string) => `release ${overlay}\n${wait}`;
  return {
    install: [namespace, secrets, apply, wait].join('\n'),
    release: release(places.nextOverlay),
    rollBack: release(places.overlay),
    diff: replaceIn(lineOf(small, 'kubectl diff'), OVERLAY, places.overlay),
    uninstall,
    ...shared,
  };
}

/** The commands for after the install, whatever the profile. */
function planLife(wait: string) {
  const restored = fenceWith(OPERATIONS, '--for=delete');
  return {
    functions: fenceWith('deploy/runbooks/README.md', 'release() {'),
    scale: `kubectl -n makerbook scale ${DOUBLED} --replicas="$REPLICAS"\n${wait}`,
    drain: fenceWith(OPERATIONS, 'kubectl drain').replaceAll('…', '"$NODE"'),
    renew: fillIn(
      fenceWith(OPERATIONS, 'gateway-certificate'),
      '"$NEW_CERT_FILE"',
      '"$NEW_KEY_FILE"',
      '"$RPC_URL_FILE"',
    ),
    stop: [
      lineOf(restored, 'scale deploy/ingress').replace(
        'deploy/ingress',
        'deploy/feed deploy/log-archive deploy/ingress',
      ),
      lineOf(restored, '--for=delete'),
    ].join('\n'),
    restore: fenceWith(OPERATIONS, '# in small').replace(/ +#.*/, '') + fenceWith(OPERATIONS, 'operator salvage'),
    migrated: inlineOf(OPERATIONS, 'job/migrate'),
    resume: lineOf(fenceWith(OPERATIONS, '# after a restore'), 'cancel-only off').replace(/ +#.*/, ''),
    runbooks: [
      fenceWith(OPERATIONS, 'operator makers suspend'),
      fenceWith(OPERATIONS, 'cancel-only on'),
      'operator makers list\nreadyz ingress\nlogs ingress --since=10m',
    ]
      .join('')
      .replaceAll('0x…', MAKER)
      .replaceAll(/ +#.*/g, ''),
  };
}

/** The chart's values for images `<images>/<service>:<tag>`. Its registry is the part before the service. */
export const chartImages = (images: string, tag: string) => ({ registry: images, tag });

/** The commands in the only fence of a document that contains the words. */
function fenceWith(document: string, words: string): string {
  const fences = [...readText(document).matchAll(/^( *)```sh .*\n((?:.*\n)*?)\1```$/gm)].map(
    ([, indent = '', commands = '']) => commands.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  const [found, ...more] = fences.filter((commands) => commands.includes(words));
  if (found === undefined || more.length > 0)
    throw new Error(`${document} has ${more.length + Number(found !== undefined)} fences with ${words}`);
  return found;
}

/** The first command within a sentence of a document that contains the words. */
function inlineOf(document: string, words: string): string {
  const commands = [...readText(document).matchAll(/`(kubectl [^`\n]+)`/g)].map(([, command = '']) => command);
  return lineOf(commands.join('\n'), words);
}

function lineOf(commands: string, words: string): string {
  const line = commands.split('\n').find((each) => each.includes(words));
  if (line === undefined) throw new Error(`no command has ${words}`);
  return line;
}

/** Drops each `NAME=…` before a command, because the environment gives these. */
const withoutVariables = (line: string): string => line.replace(/^(?:[A-Z_]+=\S*… )+/, '');

/** Replaces each `…` by a value. */
function fillIn(commands: string, ...values: readonly string[]): string {
  const parts = commands.split('…');
  if (parts.length !== values.length + 1) throw new Error(`not ${values.length} values are left out in ${commands}`);
  return parts.map((part, index) => part + (values[index] ?? '')).join('');
}

function replaceIn(line: string, words: string, by: string): string {
  if (!line.includes(words)) throw new Error(`${line} lacks ${words}`);
  return line.replace(words, by);
}
