import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Paths of a certificate and its key, as PEM files. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate authority for a test. */
export interface Authority {
  readonly caFile: string;
  /** Signs a certificate. @param names of the server: `IP:127.0.0.1`, `DNS:localhost`; none for a client */
  sign(name: string, ...names: string[]): CertificateFiles;
}

/** Makes an authority and its files in a folder, with `openssl`. The certificates are valid for two days. */
export function createAuthority(folder: string, name = 'ca'): Authority {
  const filesOf = (owner: string) => ({
    certFile: join(folder, `${owner}.pem`),
    keyFile: join(folder, `${owner}.key`),
  });
  const own = filesOf(name);
  const make = (owner: string, ...options: string[]): CertificateFiles => {
    const files = filesOf(owner);
    const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', files.keyFile, '-out', files.certFile];
    execFileSync('openssl', ['req', '-x509', '-days', '2', '-subj', `/CN=${owner}`, ...key, ...options], {
      stdio: 'pipe',
    });
    return files;
  };
  make(name);
  return {
    caFile: own.certFile,
    sign(owner, ...names) {
      const extensions = ['basicConstraints=CA:FALSE', ...(names.length > 0 ? [`subjectAltName=${names.join()}`] : [])];
      const signed = ['-CA', own.certFile, '-CAkey', own.keyFile];
      return make(owner, ...signed, ...extensions.flatMap((each) => ['-addext', each]));
    },
  };
}
