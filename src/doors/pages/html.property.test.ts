import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { foreignText, Html, html } from './html.ts'

test('no text can open a tag, close an attribute or start an entity', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const page = html`<p title="${text}">${text}</p>`.toString()
      const inside = page.slice('<p title="'.length, -'</p>'.length)
      assert.equal((inside.match(/[<>]/g) ?? []).length, 1)
      assert.equal((inside.match(/"/g) ?? []).length, 1)
      assert(!/&(?!amp;|lt;|gt;|quot;|#39;)/.test(inside))
    }),
  )
})

test('escaping loses nothing: a browser reads the very text', () => {
  const characters: Readonly<Record<string, string>> = {
    '&amp;': '&',
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
  }
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...`&<>"'a;#x`)), (letters) => {
      const escaped = html`${letters.join('')}`.toString()
      const read = escaped.replace(/&[^;]+;/g, (entity) => characters[entity] ?? '?')
      assert.equal(read, letters.join(''))
    }),
  )
})

test('finished HTML goes in as it is, lists in a row, nothing as nothing', () => {
  const items = ['<a>', 'b'].map((item) => html`<li>${item}</li>`)
  assert.equal(
    html`<ul>${items}${null}${false}${undefined}${0}</ul>`.toString(),
    '<ul><li>&lt;a&gt;</li><li>b</li>0</ul>',
  )
})

test('only the template tag can make Html', () => {
  assert.throws(() => new Html('<script>', Symbol('made by html')))
})

test('text from outside stays on one line and cannot change the reading direction', () => {
  // F25: joiners that a word or an emoji needs stay; between other characters they are made visible.
  for (const name of ['👨‍👩‍👧', 'می‌خواهم', 'क्‍ष', '👩🏽‍💻']) assert.equal(foreignText(name), name)
  assert.equal(foreignText('a\u200d b'), 'a\\u200d b')
  assert.equal(foreignText('Good\u202eevil\nname\u0000'), 'Good\\u202eevil\\u000aname\\u0000')
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const shown = foreignText(text)
      assert(!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(shown))
      assert([...shown].length <= 80)
    }),
  )
})
