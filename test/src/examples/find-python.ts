import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findRoot } from '../conformance/find-root.js';

const succeeds = (code: string) => spawnSync('python3', ['-c', code]).status === 0;
const place = (folder: string) => join(findRoot(), 'shared/client-python', folder);

/** True if this machine has a Python that the package `makerbook` runs on. */
export const hasPython = succeeds('import sys; assert sys.version_info >= (3, 10)');

/** True if this Python has librdkafka. */
export const hasConfluentKafka = hasPython && succeeds('import confluent_kafka');

/** True if this Python has the other packages that our programs import. Otherwise stand-ins sign and send. */
const hasPackages = hasPython && succeeds('import httpx, coincurve, eth_account; from Crypto.Hash import keccak');

/** The environment in which programs in Python find `makerbook` and what it needs. */
export const pythonEnvironment = {
  PYTHONPATH: [...(hasPackages ? [] : [place('stand-ins')]), place('src'), process.env['PYTHONPATH'] ?? []]
    .flat()
    .join(':'),
  PYTHONDONTWRITEBYTECODE: '1',
};

/** What is not tried here, for readers of the test log. */
export const pythonLacks: readonly string[] = hasPython
  ? [
      ...(hasPackages
        ? []
        : ['Python signs and sends with stand-ins: it lacks httpx, coincurve, pycryptodome or eth-account']),
      ...(hasConfluentKafka ? [] : ['left out: reading from Kafka in Python, which lacks confluent-kafka']),
    ]
  : ['left out: all that is in Python: there is none of 3.10 or later'];
