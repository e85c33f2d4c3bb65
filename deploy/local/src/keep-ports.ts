import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort, isPortFree } from '@makerbook/parts';

/** Gives each part its port of the last start on this data folder, if it is free, so that clients can continue. */
export class KeptPorts {
  readonly #file: string;
  readonly #ports: Record<string, number>;

  constructor(folder: string) {
    this.#file = join(folder, 'ports.json');
    this.#ports = readPorts(this.#file);
  }

  async take(name: string): Promise<number> {
    const kept = this.#ports[name];
    const port = kept !== undefined && (await isPortFree(kept, '127.0.0.1')) ? kept : await findFreePort();
    this.#ports[name] = port;
    writeFileSync(this.#file, `${JSON.stringify(this.#ports, undefined, 2)}\n`);
    return port;
  }
}

/** Returns no ports if there is no such file, or no ports in it. */
function readPorts(file: string): Record<string, number> {
  try {
    const ports: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Object.fromEntries(Object.entries(ports ?? {}).filter(([, port]) => Number.isInteger(port)));
  } catch {
    return {};
  }
}
