/**
 * Secrets inside the sentences of providers: whatever they repeat of our credentials is taken out before anybody sees
 * it. It knows no patterns of tokens; those are each provider's own.
 */

const mark = '[secret]'
/** Below it a text is part of ordinary words: it is hidden only where it stands alone. */
const unmistakableLength = 8
/** Below it a text hides nothing, and its replacement would only garble the sentence. */
const shortestLength = 4

/** The text with every secret in it replaced by a mark; the longest first, since one may be part of another. */
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
