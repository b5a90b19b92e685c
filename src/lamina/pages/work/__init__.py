"""Work that pages watch: generators that run in processes of their own, one module a chapter."""
