const TEXT_LENGTH_MAX = 300;
/** So much is shown of what is the same before the first difference. */
const SAME_LENGTH_MAX = 80;

/**
 * The message on the feed and the one of the fold, shortened to where they differ.
 * @param feed undefined where there is none, as `fold`
 */
export function describeDifference(feed: string | undefined, fold: string | undefined): string {
  let at = 0;
  if (feed !== undefined && fold !== undefined) while (at < feed.length && feed[at] === fold[at]) at += 1;
  const shorten = (text = 'nothing') => {
    const from = Math.max(0, at - SAME_LENGTH_MAX);
    const to = from + TEXT_LENGTH_MAX;
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
  };
  return `the feed has ${shorten(feed)}, this build makes ${shorten(fold)}`;
}
