const PRIMARY = `$(kubectl -n makerbook get pod -l cnpg.io/cluster=postgres,cnpg.io/instanceRole=primary -o name)`;
/** Run this before ending another primary. */
export const waitForStandbys = 'kubectl -n makerbook wait --for=condition=Ready cluster/postgres --timeout=10m';

/** Ways to end the primary of CloudNativePG, and how long requests may fail then (deploy/runbooks/operations.md). */
export const endPrimary = {
  'kill of the primary of Postgres': {
    commands: `kubectl -n makerbook delete ${PRIMARY} --grace-period=0 --force`,
    awayMaxMs: 27_000,
  },
  'switchover of Postgres': {
    commands: `standby=$(kubectl -n makerbook get pod -l cnpg.io/cluster=postgres,cnpg.io/instanceRole=replica -o jsonpath='{.items[0].metadata.name}')
      kubectl -n makerbook patch cluster postgres --subresource=status --type=merge -p '{"status":{"targetPrimary":"'$standby'"}}'`,
    awayMaxMs: 17_000,
  },
  'graceful end of the primary of Postgres': {
    commands: `kubectl -n makerbook delete ${PRIMARY} --wait=false`,
    awayMaxMs: 12_000,
  },
} as const;
