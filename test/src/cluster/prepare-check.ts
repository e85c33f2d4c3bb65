import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createAuthority } from '@makerbook/parts';
import type { ClusterParts } from './open-parts.js';
import { chartImages, type Places } from './plan-check.js';
import type { Run } from './run-commands.js';

export const PARTITIONS = '12';
const RPC_URL = 'http://chain:8551';
const SERVICES = ['ingress', 'query', 'feed', 'chain-watcher', 'projector', 'operator'];

export interface Prepared {
  /** Variables for the commands. */
  readonly variables: Readonly<Record<string, string>>;
  /** The gateway's certificate after the renewal. */
  readonly nextCertFile: string;
}

export interface Preparation {
  readonly root: string;
  /** The folder for certificates, keys and values. */
  readonly folder: string;
  /** The folder for the overlays. */
  readonly ways: string;
  readonly places: Places;
  readonly images: string;
  readonly tag: string;
  /** Folders of `deploy/k8s/components` that the overlay has beside those of `small`. */
  readonly components: readonly string[];
}

/** Makes certificates and keys, overlays and values. */
export async function prepareCheck(of: Preparation, run: Run, { environment }: ClusterParts): Promise<Prepared> {
  const { folder, ways, places } = of;
  const { stdout } = await run(
    `kubectl get nodes -o jsonpath='{.items[*].status.addresses[?(@.type=="InternalIP")].address}'`,
  );
  const authority = createAuthority(folder);
  const names = stdout
    .trim()
    .split(' ')
    .map((ip) => `IP:${ip}`);
  const [now, next] = [authority.sign('gateway', ...names), authority.sign('next-gateway', ...names)];
  setDefaultCACertificates([...getCACertificates(), readFileSync(authority.caFile, 'utf8')]);
  const { CHAIN_ID, SERVICE_NAME, LIMIT_ORDER_PROTOCOL_ADDRESS, MULTICALL_ADDRESS, NAVIGATOR_ADDRESS } = environment;
  const contracts = { LIMIT_ORDER_PROTOCOL_ADDRESS, MULTICALL_ADDRESS, NAVIGATOR_ADDRESS };
  const settings = { CHAIN_ID, SERVICE_NAME, ...contracts, PARTITIONS };
  // Changing a setting rolls out all services.
  const nextSettings = { ...settings, HISTORY_DAYS: '31' };
  writeOverlay(of, join(ways, 'overlay'), settings);
  writeOverlay(of, join(ways, 'next'), nextSettings);
  const images = chartImages(of.images, of.tag);
  writeFileSync(places.values, JSON.stringify({ settings, images }));
  writeFileSync(places.nextValues, JSON.stringify({ settings: nextSettings, images }));
  const [quoteSigner, rpcUrl] = [join(folder, 'quote-signer'), join(folder, 'rpc-url')];
  writeFileSync(quoteSigner, environment.QUOTE_SIGNER_KEY);
  writeFileSync(rpcUrl, RPC_URL);
  const variables = {
    POSTGRES_PASSWORD: 'makerbook',
    RPC_URL,
    RPC_URL_FILE: rpcUrl,
    QUOTE_SIGNER_KEY_FILE: quoteSigner,
    GATEWAY_CERT_FILE: now.certFile,
    GATEWAY_KEY_FILE: now.keyFile,
    NEW_CERT_FILE: next.certFile,
    NEW_KEY_FILE: next.keyFile,
  };
  return { variables, nextCertFile: next.certFile };
}

/** Writes an overlay: `small` with more components. Orders are taken again as soon as the log is restored. */
function writeOverlay(
  { root, images, tag, components }: Preparation,
  at: string,
  settings: Readonly<Record<string, string>>,
): void {
  const wayTo = (path: string) => relative(at, join(root, 'deploy/k8s', path));
  mkdirSync(join(at, 'namespaces'), { recursive: true });
  const namespaces = { target: { kind: 'ConfigMap', name: 'namespaces' }, patch: NAMESPACE_OF_OPERATOR };
  write(join(at, 'namespaces'), { kind: 'Component', apiVersion: `${API}/v1alpha1`, patches: [namespaces] });
  write(at, {
    kind: 'Kustomization',
    apiVersion: `${API}/v1beta1`,
    namespace: 'makerbook',
    resources: [wayTo('overlays/small')],
    components: ['namespaces', ...components.map((name) => wayTo(`components/${name}`))],
    images: SERVICES.flatMap((service) =>
      [`localhost/makerbook/${service}`, `makerbook/${service}`].map((name) => ({
        name,
        newName: `${images}/${service}`,
        newTag: tag,
      })),
    ),
    configMapGenerator: [
      {
        name: 'settings',
        behavior: 'merge',
        literals: Object.entries({ ...settings, HOLD_SECONDS: '0' }).map(([name, value]) => `${name}=${value}`),
      },
    ],
  });
}

const API = 'kustomize.config.k8s.io';
/** The namespace is that of the README's command that installs CloudNativePG. */
const NAMESPACE_OF_OPERATOR = '[{ "op": "add", "path": "/data/postgresOperator", "value": "cnpg-system" }]';

const write = (at: string, kustomization: object) =>
  writeFileSync(join(at, 'kustomization.yaml'), JSON.stringify(kustomization));
