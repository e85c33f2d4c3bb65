import type { Hex } from '@makerbook/contracts-primitives';
import { MakerDraft } from '@makerbook/domain';
import { replaceMethod } from '@makerbook/parts';

/** A build that cannot fold any fact about the maker, as long as it has its mistake. */
export interface MistakenBuild {
  hasMistake: boolean;
  /** Puts the right build back. */
  readonly mend: () => void;
}

/** The build is right until `hasMistake` is set. */
export function plantMistake(maker: Hex): MistakenBuild {
  const build: MistakenBuild = {
    hasMistake: false,
    mend: replaceMethod(
      MakerDraft.prototype,
      'apply',
      (apply) =>
        function (this: MakerDraft, fact, ...rest) {
          if (build.hasMistake && fact.maker === maker) throw new Error('a build with a mistake');
          return apply.call(this, fact, ...rest);
        },
    ),
  };
  return build;
}
