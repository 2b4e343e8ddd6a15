/** What the release gate demands of the changelog, and that the changelog of this tree meets it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChangelogFaults } from '../../scripts/release/changelog.ts'
import { readText } from './tree.ts'

const ready = `# Changelog

## Unreleased

### Added
- A thing.

### Upgrade steps
- None.

## 0.1.0 (2026-01-01)

### Added
- The first one.
`

const faulty: readonly (readonly [string, string, RegExp])[] = [
  ['no section', '# Changelog\n', /no section/],
  ['a part out of order', ready.replace('### Upgrade steps', '### Changed'), /Upgrade steps/],
  [
    'a part twice',
    ready.replace('- A thing.', '- A thing.\n\n### Added\n- Another.'),
    /at most once/,
  ],
  ['an unknown part', ready.replace('### Added', '### News'), /is not one of/],
  ['a part without entries', ready.replace('- A thing.', ''), /"Added" has no entry/],
  ['text before the parts', ready.replace('## Unreleased\n', '## Unreleased\n\nSoon.\n'), /before/],
  [
    'parts that are not sorted',
    ready.replace('### Added\n- A thing.', '### Fixed\n- B.\n\n### Added\n- A thing.'),
    /in this order: Added, Fixed, Upgrade steps/,
  ],
]
for (const [name, changelog, fault] of faulty) {
  test(`a changelog with ${name} is refused`, () => {
    assert.match(findChangelogFaults(changelog).join('\n'), fault)
  })
}

test('the changelog of this tree could be released, unless it was released just now', () => {
  const faults = findChangelogFaults(readText('CHANGELOG.md'))
  assert.deepEqual(
    faults.filter((fault) => !fault.startsWith('Unreleased is empty')),
    [],
  )
})
