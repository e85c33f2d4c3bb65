import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Overlay, root } from '../read-manifests.js';

/** Stands in for kubectl. A Secret is a folder with a file for each key. */
const kubectl = `#!/bin/sh
case $3 in get) [ -e "$SECRETS/$5" ]; exit ;; label) [ -e "$SECRETS/$6" ]; exit ;; esac
mkdir "$SECRETS/$6" && cd "$SECRETS/$6"
for word in "$@"; do
  case $word in
    --from-file=*) file=\${word#--from-file=}; cp "\${file#*=}" "\${file%%=*}" ;;
    --cert=*) cp "\${word#--cert=}" tls.crt ;;
    --key=*) cp "\${word#--key=}" tls.key ;;
  esac
done
`;
/** Variables that the cluster's operator gives. Any file serves as certificate. */
const GIVEN = {
  RPC_URL: 'https://node.example.com/key',
  QUOTE_SIGNER_KEY: `0x${'1'.repeat(64)}\n`,
  POSTGRES_PASSWORD: 'secret',
};

/**
 * Returns the Secrets that `deploy/k8s/make-secrets.sh` makes for an overlay, keyed by `name/key`.
 * @param times how often to run the script; each run finds the Secrets of the run before
 */
export function makeSecrets(overlay: Overlay, times = 1): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-secrets-'));
  const secrets = join(folder, 'secrets');
  try {
    mkdirSync(secrets);
    writeFileSync(join(folder, 'kubectl'), kubectl, { mode: 0o755 });
    writeFileSync(join(folder, 'key'), GIVEN.QUOTE_SIGNER_KEY);
    const env = {
      ...GIVEN,
      PATH: `${folder}:${process.env['PATH']}`,
      SECRETS: secrets,
      QUOTE_SIGNER_KEY_FILE: join(folder, 'key'),
      GATEWAY_CERT_FILE: join(folder, 'key'),
      GATEWAY_KEY_FILE: join(folder, 'key'),
    };
    const kind = overlay === 'small' ? 'small' : 'production';
    for (let time = 0; time < times; time += 1)
      execFileSync('sh', [`${root}deploy/k8s/make-secrets.sh`, kind], { env, stdio: 'pipe' });
    const files = readdirSync(secrets).flatMap((name) =>
      readdirSync(join(secrets, name)).map((key) => `${name}/${key}`),
    );
    return new Map(files.map((file) => [file, readFileSync(join(secrets, file), 'utf8')]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
