/**
 * What rooms outside `src/providers/` may know about a provider: each adapter's folder declares it in
 * `facts.ts`, and `all-facts.ts` lists the folders. Facts are data, so that reading them loads no adapter.
 */
import type { ConnectionCategory } from '#contract/resources.ts'

/** A field needed to adopt a consent: its key in the admin API, and its flag on the command line. */
export interface LinkField {
  readonly flag: string
  /** The placeholder for a value in the help of the command line. */
  readonly value: string
  readonly help: string
  readonly isSecret?: true
  /** How such keys begin, to tell it apart from those of other providers; absent: not known. */
  readonly begins?: readonly string[]
  /**
   * The field in a form for people, where they give a key of their own; absent: it is not asked for there.
   */
  readonly onPage?: { readonly name: string; readonly label: string; readonly hint: string }
  /** May be left out; the adapter says which combinations of fields make sense. */
  readonly isOptional?: true
  /** A file's text with its lines; otherwise a word without blanks. */
  readonly isLong?: true
}

/** How many calls we make to a provider that limits them (`budget.ts`). */
export interface BudgetLimits {
  /** Calls in one window: of the whole application, or of each person where the adapter names them. */
  readonly calls: number
  readonly windowMs: number
  /** Calls that background work must leave for users. */
  readonly reserve: number
  /** The provider's windows begin at full hours or minutes of the clock; otherwise with the first call. */
  readonly isByClock?: true
  /** Counted in the store: a restart begins no new window, and no time of that length has more calls. */
  readonly isDurable?: true
  /** How long background work waits for the next window; absent: not at all, its schedule tries again. */
  readonly backgroundWaitMs?: number
}

/**
 * A secret that one person gives to `tributary setup`, which seals it in the store and adds it to no file.
 */
export interface PersonalToken {
  /** Read by setup alone: the service itself has no use for it. */
  readonly variable: string
  readonly flag: string
  /** What is asked for on a terminal. */
  readonly asks: string
}

/** How one person without a contract links their own access with `tributary setup`. */
export interface PersonalAccess {
  /** The provider's name for people. */
  readonly name: string
  /** Where a person finds what is asked. */
  readonly source: string
  /** What is asked for on a terminal, for each variable of `settings.required`. */
  readonly asks: Readonly<Record<string, string>>
  /** Variables that must have this value, so that the required ones mean one person's own key. */
  readonly fixed: Readonly<Record<string, string>>
  /** The link fields that are the person's; empty: the required variables are the person's access already. */
  readonly tokens: Readonly<Record<string, PersonalToken>>
  /** Consent is given in a browser once the variables are set: there is nothing to link before. */
  readonly isByBrowser?: true
}

export interface ProviderFacts {
  /** Display name. */
  readonly name: string
  /** How a person finishes a sign-in that waits for a second factor: full sentences. */
  readonly secondFactor: string
  /** What it reaches, e.g. `Banks in Australia`. */
  readonly covers: string
  /** The countries that it is for (ISO 3166-1 alpha-2); null: many, or not a matter of country. */
  readonly countries: readonly string[] | null
  readonly category: ConnectionCategory
  /** Reading R24b: the currency of an account without one. */
  readonly defaultCurrency: string
  /**
   * True when a person has at most one consent per institution: a consent with a new id then renews the
   * stored one. False when a person may have several logins at one institution.
   */
  readonly oneConsentPerInstitution: boolean
  /** A consent stays active after a newer one to the same institution took its place, until it is revoked. */
  readonly leavesFormerConsent?: true
  /** Its ids of accounts change when a person adds an institution again: names are compared as well. */
  readonly hasUnstableIds?: true
  /** Null: it has no known limit, or none that we can reach. */
  readonly budget: BudgetLimits | null
  /** A further budget of each account; absent: accounts have no limit of their own. */
  readonly accountBudget?: BudgetLimits
  /** Hours that lie between two reads of a connection's rows by schedule; null: every sync reads them. */
  readonly scheduledReadHours: number | null
  /** How many days later syncs look back, where each further window costs calls; absent: 90. */
  readonly laterLookBackDays?: number
  /** True where people may link with keys of their own: the adapter works without our credentials. */
  readonly isOpen: boolean
  /** Why accounts may not be shared, and what to do, where it is the provider's own rule: full sentences. */
  readonly whenIneligible?: string
  /** How many days back rows are certain to be given, where banks give few; and why, for people. */
  readonly olderRows?: { readonly days: number; readonly words: string }
  /** Why access ends there and how it goes on, for its person, where it is no consent that expires. */
  readonly whenInvalidated?: string
  /** A call ends a person's consent or token there. */
  readonly endsConsents: boolean
  /** Absent: an individual cannot get access there. */
  readonly personal?: PersonalAccess
  /** What an operator provides to adopt a consent. */
  readonly linkFields: Readonly<Record<string, LinkField>>
  /** The variables for this installation's own access, keyed by the adapter's option names. */
  readonly settings: {
    /** Always has a value. */
    readonly baseUrl: string
    /** This installation's own credentials: all or none. Without them only people's own keys work. */
    readonly required: Readonly<Record<string, string>>
    /** Have no effect without the required ones. */
    readonly optional: Readonly<Record<string, string>>
    /** The required variable used for an optional one that is not set, by their names here. */
    readonly fallbackFields: Readonly<Record<string, string>>
    /** Have a default value. */
    readonly preset: Readonly<Record<string, string>>
    /** By variable: the one that names a file with its value instead. Absent: none. */
    readonly files?: Readonly<Record<string, string>>
  }
  /** Port of its emulator when the sandbox runs alone. */
  readonly sandboxPort: number
}
