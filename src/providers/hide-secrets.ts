/**
 * Removes our credentials from providers' messages before they are shown. It knows no token patterns; those
 * belong to each provider's adapter.
 */

const mark = '[secret]'
/** A shorter secret may be part of ordinary words, so it is hidden only where it stands alone. */
const unmistakableLength = 8
/** A shorter secret is not hidden: replacing it would only make the message unreadable. */
const shortestLength = 4

/** Replaces every secret in the text by a mark; the longest first, because one may contain another. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of [...secrets].sort((left, right) => right.length - left.length)) {
    if (secret.length >= unmistakableLength) clean = clean.replaceAll(secret, mark)
    else if (secret.length >= shortestLength) clean = clean.replace(standingAlone(secret), mark)
  }
  return clean
}

function standingAlone(secret: string): RegExp {
  return new RegExp(`(?<![A-Za-z0-9])${RegExp.escape(secret)}(?![A-Za-z0-9])`, 'g')
}
