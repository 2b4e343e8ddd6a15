/** Numbers out of the metrics of this process, for the operator's pages. Pure. */

/** The sum of all samples of this name whose labels fit; null: there is none. */
export function sumOf(text: string, name: string, fits: RegExp = /^/): number | null {
  const lines = text.split('\n').flatMap((line) => {
    const [, found, labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    return found === name && fits.test(labels) ? [Number(value)] : []
  })
  return lines.length === 0 ? null : lines.reduce((sum, value) => sum + value, 0)
}
