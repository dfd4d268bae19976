"""Searches the web and prints titles and addresses: python3 search.py http caching"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


def search(query: str, num: int = 5) -> list[dict]:
    base = os.environ.get("QUARRY_URL", "http://localhost:3000")
    parameters = urllib.parse.urlencode({"query": query, "num": num, "source": "script"})
    request = urllib.request.Request(
        f"{base}/v1/query?{parameters}",
        headers={"Authorization": "Bearer " + os.environ["QUARRY_API_KEY"]},
    )
    # A search may take 15 seconds, and the answer a moment more.
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)["results"]["organic"]


def main() -> int:
    if len(sys.argv) < 2 or "QUARRY_API_KEY" not in os.environ:
        print("Set QUARRY_API_KEY, and give the words to search for.", file=sys.stderr)
        return 2
    try:
        for result in search(" ".join(sys.argv[1:])):
            print(f"{result['position']}. {result['title']}\n   {result['url']}")
    except urllib.error.HTTPError as error:
        print(json.load(error)["message"], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
