import { readText } from '@makerbook/deploy-checks';

export const profiles = ['small', 'chart'] as const;
export type Profile = (typeof profiles)[number];

/** Where the check keeps what an operator would have: overlays, the chart, values. */
export interface Places {
  /** The overlay as it is installed, and the one of the next release. */
  readonly overlay: string;
  readonly nextOverlay: string;
  readonly chart: string;
  readonly values: string;
  readonly nextValues: string;
}

/** Commands of the documents, as a shell takes them. */
export interface Plan {
  readonly install: string;
  readonly release: string;
  readonly rollBack: string;
  /** Prints what an apply of the installed release would change. Undefined: Helm has no such command. */
  readonly diff: string | undefined;
  readonly uninstall: string;
  /** The shell functions of the runbooks. */
  readonly functions: string;
}

const OVERLAY = 'deploy/k8s/overlays/small';
const CHART = 'oci://registry.example.com/charts/makerbook';

/** What the check runs on a cluster, out of the documents. @throws where a document lacks such a command */
export function planCheck(profile: Profile, places: Places): Plan {
  const small = fenceWith('deploy/k8s/README.md', 'make-secrets.sh small');
  const functions = fenceWith('deploy/runbooks/README.md', 'release() {');
  const namespace = lineOf(small, 'kubectl apply -f deploy/k8s/base/namespace.yaml');
  const secrets = withoutVariables(lineOf(small, 'make-secrets.sh small'));
  const uninstall = lineOf(small, 'kubectl delete namespace');
  const wait = lineOf(small, 'rollout status');
  if (profile === 'chart') {
    const helm = fenceWith('deploy/helm/README.md', 'helm upgrade');
    const install = lineOf(helm, 'helm upgrade').replace(/ +#.*$/, '');
    const made = replaceIn(install, CHART, places.chart);
    const upgrade = (values: string) =>
      `${replaceIn(made, '-f values.yaml', `-f ${places.chart}/values-small.yaml -f ${values}`)}\n${wait}`;
    const jobs = /`(kubectl -n makerbook delete job [^`]+)`/.exec(readText('deploy/helm/README.md'))?.[1];
    return {
      install: [`npm run chart -- ${places.chart}`, namespace, secrets, upgrade(places.values)].join('\n'),
      release: upgrade(places.nextValues),
      rollBack: upgrade(places.values),
      diff: undefined,
      uninstall: `helm uninstall makerbook -n makerbook\n${jobs}\n${uninstall}`,
      functions,
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
    functions,
  };
}

/** The chart's values of the images `<images>/<service>:<tag>`: its registry is what stands before their names. */
export const chartImages = (images: string, tag: string) => ({ registry: images, tag });

/** The commands of the only fence of a document that has the words. */
function fenceWith(document: string, words: string): string {
  const fences = [...readText(document).matchAll(/^```sh .*\n((?:.*\n)*?)```$/gm)].map(([, commands = '']) => commands);
  const [found, ...more] = fences.filter((commands) => commands.includes(words));
  if (found === undefined || more.length > 0)
    throw new Error(`${document} has ${more.length + Number(found !== undefined)} fences with ${words}`);
  return found;
}

function lineOf(commands: string, words: string): string {
  const line = commands.split('\n').find((each) => each.includes(words));
  if (line === undefined) throw new Error(`no command has ${words}`);
  return line;
}

/** What stands before a command as `NAME=…` is given by the environment. */
const withoutVariables = (line: string): string => line.replace(/^(?:[A-Z_]+=… )+/, '');

function replaceIn(line: string, words: string, by: string): string {
  if (!line.includes(words)) throw new Error(`${line} lacks ${words}`);
  return line.replace(words, by);
}
