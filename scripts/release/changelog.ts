/**
 * The changelog for a release: the section Unreleased with its parts in a fixed order, each with entries. It
 * works on text; the caller handles files and tags.
 */

/** The parts of a section, in the order in which a reader needs them. */
const parts = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', 'Upgrade steps']

const heading = '## Unreleased'

/**
 * The reasons why the section Unreleased cannot be released, one sentence each; empty when there are none.
 */
export function findChangelogFaults(changelog: string): string[] {
  const section = readUnreleased(changelog)
  if (section === null) return [`CHANGELOG.md has no section "${heading}"`]
  const found = section.split(/^### /m)
  const before = found.shift()?.trim() ?? ''
  const names = found.map((part) => part.slice(0, part.indexOf('\n')).trim())
  const faults = names.length === 0 ? ['Unreleased is empty: say what operators notice'] : []
  if (before !== '') faults.push('Unreleased has text before its first part')
  for (const name of names) {
    if (!parts.includes(name)) faults.push(`"${name}" is not one of ${parts.join(', ')}`)
  }
  for (const [index, part] of found.entries()) {
    if (!/^- \S/m.test(part)) faults.push(`"${names[index]}" has no entry`)
  }
  const known = names.filter((name) => parts.includes(name))
  const sorted = parts.filter((name) => known.includes(name))
  if (known.join() !== sorted.join()) {
    faults.push(`each part must appear at most once, in this order: ${sorted.join(', ')}`)
  }
  if (names.length > 0 && !names.includes('Upgrade steps')) {
    faults.push('"Upgrade steps" is missing: write "- None." when there are none')
  }
  return faults
}

/** The changelog with its section Unreleased renamed to this version, and a new empty one above it. */
export function releaseChangelog(changelog: string, version: string, day: string): string {
  return changelog.replace(heading, `${heading}\n\n## ${version} (${day})`)
}

/** The text below the heading Unreleased, up to the next version. */
function readUnreleased(changelog: string): string | null {
  const [, section] = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog) ?? []
  return section ?? null
}
