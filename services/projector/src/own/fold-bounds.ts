import type { RebuildSettings } from '../env.js';

/** The rules and bounds of a fold, as the settings have them: of one that publishes, and of one beside it. */
export function foldBounds(settings: RebuildSettings) {
  return {
    partitions: settings.PARTITIONS,
    routingGraceSeconds: settings.ROUTING_GRACE_SECONDS,
    heldMax: settings.HELD_ORDERS_PER_PARTITION_MAX,
    batchFactsMax: settings.BATCH_FACTS_MAX,
    commitTransitionsMax: settings.COMMIT_TRANSITIONS_MAX,
    commitFactsMax: settings.COMMIT_FACTS_MAX,
    quarantinedMakersMax: settings.QUARANTINED_MAKERS_MAX,
  };
}
