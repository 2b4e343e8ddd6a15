/**
 * Checks masking in both directions: no digits of an account number stay visible in a name, and ordinary
 * names are unchanged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { hideAccountNumber, hideNumberShapes } from './account-numbers.ts'

const digits = (min: number, max = min) => fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`))
const separator = fc.constantFrom(
  ' ',
  '-',
  '.',
  '/',
  '\u00a0',
  '\u202f',
  '\u2011',
  '\u2013',
  '\u2212',
  '\u200b',
  ' - ',
)
const gap = fc.oneof(fc.constant(''), separator)
const word = fc.constantFrom('Everyday', 'Joint', 'Rent & bills', 'Ētahi', '旅行', 'Visa', '')
/** Code points of the digit 0 in several scripts. */
const zeros = [0x30, 0xff10, 0x660, 0x966, 0x1d7ce]
const script = fc.constantFrom(...zeros)
const write = (text: string, zero: number) =>
  text.replace(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)))

/** The digits that remain visible, in any script. */
function seen(text: string): string[] {
  const plain = [...text].map((character) => {
    const code = character.codePointAt(0) ?? 0
    const zero = zeros.find((one) => code >= one && code <= one + 9)
    return zero === undefined ? character : String(code - zero)
  })
  return plain.join('').match(/\d+/g) ?? []
}

interface Told {
  readonly name: string
  readonly last: string
}

function assertMasked(hide: (text: string) => string, { name, last }: Told): void {
  const shown = hide(name)
  assert(shown.includes(`xxxx${last}`), `${name} became ${shown}`)
  assert(
    seen(shown).every((run) => run.length <= 4),
    `${name} became ${shown}`,
  )
  assert.equal(hide(shown), shown, 'masked text is unchanged')
}

const surround = (number: fc.Arbitrary<{ text: string; last: string }>): fc.Arbitrary<Told> =>
  fc.tuple(word, number, word, script).map(([before, { text, last }, after, zero]) => ({
    name: [before, write(text, zero), after].filter((part) => part !== '').join(' '),
    last,
  }))

const branchAndAccount = fc
  .tuple(digits(3), gap, digits(3), gap, digits(6, 9))
  .filter(([a, , b, , c]) => !/^(?:(?:19|20)\d\d)+$/.test(a + b + c))
  .map(([a, first, b, second, c]) => ({ text: a + first + b + second + c, last: c.slice(-4) }))

const long = fc
  .tuple(digits(13, 19), separator, fc.constantFrom(0, 2, 3, 4, 5, 7))
  .filter(([number]) => !/^(?:(?:19|20)\d\d)+/.test(number))
  .map(([number, between, size]) => ({
    text: size === 0 ? number : (number.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(between),
    last: number.slice(-4),
  }))
  // Groups of two and of four digits between slashes or dots may be a date, which is not masked.
  .filter(({ text }) => !/(?:19|20)\d\d/.test(text))

const newZealand = fc
  .tuple(digits(2), digits(4), digits(7), digits(2, 3), gap)
  .filter((parts) => !/(?:19|20)\d\d/.test(parts.join('')))
  .map(([a, b, c, d, between]) => ({
    text: [a, b, c, d].join(between),
    last: (a + b + c + d).slice(-4),
  }))

for (const [what, number] of [
  ['a BSB with its account', branchAndAccount],
  ['thirteen to nineteen digits, grouped or not', long],
  ['a number of New Zealand', newZealand],
] as const) {
  test(`${what} is masked at any place, in every script and spelling`, () => {
    fc.assert(
      fc.property(surround(number), (told) => assertMasked(hideNumberShapes, told)),
      { numRuns: 500 },
    )
  })
}

test('a number given by the provider is masked in every spelling, with its branch and without', () => {
  fc.assert(
    fc.property(
      fc.tuple(word, digits(5, 12), word, script),
      fc.array(gap, { minLength: 12, maxLength: 12 }),
      ([before, number, after, zero], gaps) => {
        const spelled = [...number].map((digit, index) => digit + (gaps[index] ?? '')).join('')
        const name = `${before} ${write(spelled, zero)}${after}`
        const mask = `xxxx${number.slice(-4)}`
        const shown = hideAccountNumber(name, number, mask)
        assert(shown.includes(mask), `${name} became ${shown}`)
        assert(seen(shown).every((run) => run.length <= 4))
      },
    ),
  )
})

const masked: readonly (readonly [name: string, shown: string])[] = [
  ['Everyday 062-000 12345678', 'Everyday xxxx5678'],
  ['Everyday 062000 12345678', 'Everyday xxxx5678'],
  ['Everyday 06200012345678', 'Everyday xxxx5678'],
  ['Everyday 062/000/12345678', 'Everyday xxxx5678'],
  ['Everyday 062.000.123456', 'Everyday xxxx3456'],
  ['Everyday 062\u2011000\u00a012345678', 'Everyday xxxx5678'],
  ['BSB 062-000 Acc 12345678', 'BSB xxxx Acc xxxx5678'],
  ['BSB: 062000, Account No. 123456', 'BSB: xxxx, Account No. xxxx3456'],
  ['062-000 (12345678)', 'xxxx (xxxx5678)'],
  ['Joint 062-000', 'Joint xxxx'],
  ['Kiwi 01-0242-0100194-000', 'Kiwi xxxx4000'],
  ['Visa 4111 1111 1111 1111 gold', 'Visa xxxx1111 gold'],
  ['Amex 3782-822463-10005', 'Amex xxxx0005'],
  ['GB82 WEST 1234 5698 7654 32', 'xxxx5432'],
  ['Konto DE89370400440532013000', 'Konto xxxx3000'],
  ['NL91 ABNA 0417 1643 00', 'xxxx4300'],
  ['Two: 062000 12345678 and 062000 87654321', 'Two: xxxx5678 and xxxx4321'],
]
for (const [name, shown] of masked) {
  test(`${name} is shown as ${shown}`, () => {
    assert.equal(hideNumberShapes(name), shown)
  })
}

const ordinary = [
  'Savings 2024',
  'Savings 2024-2025',
  'Goals 2024 2025 2026 2027',
  'Joint account 2024/25',
  'FY 01/07/2025 - 30/06/2026',
  'Term deposit 20261231',
  'Holiday 12.12.2026',
  'Visa 1234',
  'Card ending 1234',
  'xxxx 1234',
  '****-****-****-0194',
  'Card 01/2027',
  'Goal $10,000',
  'Goal $10,000,000',
  'Goal $12345678',
  'Home loan 5.25% 30 years',
  '401(k) 2050',
  'Mortgage 1 of 2',
  'Account 2',
  'Everyday no. 2',
  'Level 3 Growth 80/20',
  'Saver №7',
  'Tel +61 412 345 678',
  '½ share',
  '',
]
for (const name of ordinary) {
  test(`an ordinary name stays as it is: ${name}`, () => {
    assert.equal(hideNumberShapes(name), name)
  })
}

test('names of words, years, dates, amounts and small numbers stay as they are', () => {
  const year = fc.integer({ min: 1900, max: 2099 }).map(String)
  const small = fc.integer({ min: 0, max: 999 }).map(String)
  const amount = fc.integer({ min: 1, max: 99_999_999 }).map((cents) => {
    return `$${(cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2 })}`
  })
  const letters = fc.stringMatching(/^[A-Za-zÀ-ž&'’ ]{1,12}$/).filter((text) => text.trim() !== '')
  const lastFour = digits(4).map((four) => `ending ${four}`)
  fc.assert(
    fc.property(
      fc.array(fc.tuple(letters, fc.oneof(year, small, amount, lastFour)), { maxLength: 4 }),
      (parts) => {
        const name = parts.map((part) => part.join(' ')).join(' ')
        assert.equal(hideNumberShapes(name), name)
      },
    ),
    { numRuns: 500 },
  )
})

test('any text is accepted, and masking a masked text changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), digits(0, 20), (text, number) => {
      const shown = hideNumberShapes(hideAccountNumber(`${text}${number}`, number, null))
      assert.equal(hideNumberShapes(shown), shown)
    }),
  )
})

test('a long name costs no more than its length', () => {
  const name = `${'1 '.repeat(20_000)}${'AB12 '.repeat(20_000)}${'acc no. '.repeat(20_000)}`
  assert(hideNumberShapes(name).length > 0)
})
