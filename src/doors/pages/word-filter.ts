/** The search over names on a page. Pure. */

/** True for texts that contain every word of the search, whatever their case and accents. */
export function makeWordFilter(q: string): (text: string) => boolean {
  const words = fold(q)
    .split(' ')
    .filter((word) => word !== '')
  return (text) => {
    const folded = fold(text)
    return words.every((word) => folded.includes(word))
  }
}

function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[\s\p{P}]+/gu, ' ')
}
