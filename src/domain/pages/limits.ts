export const maxPageBytes = 5 * 1024 * 1024

export const maxPageLinks = 200
