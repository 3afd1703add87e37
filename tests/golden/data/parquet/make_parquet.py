"""Makes small Parquet files of images and labels in all forms, and listing.tsv, what is in them.

Run with pyarrow: python make_parquet.py. Made with pyarrow 25.0.1.
"""

import json
import pathlib
import zlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
# Pages of two or so rows.
SMALL_PAGES = {"write_batch_size": 2, "data_page_size": 300}


def image(number, size):
    """Bytes that no other image begins with and that compress well."""
    return bytes((number * 31 + place // 7 * 3) % 256 for place in range(size))


def rows(count, size=120):
    return [(image(i, size + 37 * (i % 5)), i * 7 % 3, f"n{i * 7 % 3}_{i}.JPEG") for i in range(count)]


def struct_table(samples, image_type=STRUCT, label_type=pa.int64()):
    images = [{"bytes": content, "path": name} for content, _, name in samples]
    return pa.table({"image": pa.array(images, image_type),
                     "label": pa.array([label for _, label, _ in samples], label_type)})


def main():
    listing = []

    def write(name, samples, table=None, **options):
        pq.write_table(struct_table(samples) if table is None else table, HERE / name, **options)
        for row, (content, label, path) in enumerate(samples):
            listing.append(f"{name}\t{row}\t{label}\t{path}\t{len(content)}\t{zlib.crc32(content)}\n")

    ten = rows(10)
    write("dictionary.parquet", ten, row_group_size=4)
    repeated = [(ten[i % 3][0], *ten[i][1:]) for i in range(10)]
    write("fallback.parquet", repeated, write_batch_size=2, dictionary_pagesize_limit=300, data_page_size=300)
    write("fallback_index.parquet", repeated, write_batch_size=2, dictionary_pagesize_limit=300,
          data_page_size=300, write_page_index=True)
    for codec in ("none", "snappy", "zstd", "gzip", "lz4"):
        write(f"{codec}.parquet", ten, compression=codec, use_dictionary=False, row_group_size=7, **SMALL_PAGES)
        write(f"{codec}_v2_index.parquet", ten, compression=codec, use_dictionary=False, row_group_size=7,
              data_page_version="2.0", write_page_index=True, **SMALL_PAGES)
    write("checksums.parquet", ten, compression="none", use_dictionary=False, write_page_checksum=True)
    for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        write(f"{encoding.lower()}.parquet", ten, use_dictionary=False, column_encoding={"image.bytes": encoding},
              **SMALL_PAGES)
    # More than Snappy's 64 KiB in a page, with images across their ends.
    large = rows(12, 20_000)
    for name, options in (("fragments", {"use_dictionary": False}), ("fragments_dictionary", {}),
                          ("fragments_v2", {"use_dictionary": False, "data_page_version": "2.0"})):
        write(f"{name}.parquet", large, **options)

    # Schemas.
    required = pa.table(
        [[content for content, _, _ in ten], [label for _, label, _ in ten]],
        schema=pa.schema([pa.field("img", pa.binary(), nullable=False),
                          pa.field("fine_label", pa.int8(), nullable=False)]))
    write("required.parquet", [(content, label, str(row)) for row, (content, label, _) in enumerate(ten)], required)
    text_names = ["cat", "ape", "dog"]  # sorted: ape 0, cat 1, dog 2
    texts = struct_table([(content, text_names[label], name) for content, label, name in ten], label_type=pa.string())
    write("texts.parquet", [(content, sorted(text_names).index(text_names[label]), name)
                            for content, label, name in ten], texts)
    only_dogs = struct_table([(ten[0][0], "dog", "d.JPEG")], label_type=pa.string())
    write("only_dogs.parquet", [(ten[0][0], 2, "d.JPEG")], only_dogs)
    unnamed = [{"bytes": content, "path": name if row % 2 else None} for row, (content, _, name) in enumerate(ten)]
    write("some_names.parquet", [(content, label, name if row % 2 else str(row))
                                 for row, (content, label, name) in enumerate(ten)],
          struct_table(ten).set_column(0, "image", pa.array(unnamed, STRUCT)))
    features = {"image": {"_type": "Image"},
                "label": {"names": ["tench, Tinca tinca", "paper/plate", "goldfish", "unused"],
                          "_type": "ClassLabel"}}
    write("huggingface.parquet", ten, struct_table(ten).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}))
    # Columns of other names, which are found all the same.
    features = {"img": {"_type": "Image"}, "kind": {"names": ["a", "b", "c"], "_type": "ClassLabel"},
                "size": {"dtype": "int64", "_type": "Value"}}
    renamed = struct_table(ten).rename_columns(["img", "kind"]).append_column("size", pa.array(range(10)))
    write("other_columns.parquet", ten, renamed.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}))
    two_labels = struct_table(ten).rename_columns(["img", "fine_label"]).append_column(
        "coarse_label", pa.array([0] * 10))
    write("two_labels.parquet", ten, two_labels)

    # Lists of labels: none, one and several, over several row groups.
    lists = [[i % 3, 3] if i % 4 else [] for i in range(10)]
    features = {"labels": {"feature": {"names": ["a", "b", "c", "d", "e"], "_type": "ClassLabel"}, "_type": "List"}}
    images = struct_table(ten).select(["image"])
    pq.write_table(images.append_column("labels", pa.array(lists, pa.list_(pa.int64()))).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}), HERE / "label_lists.parquet", row_group_size=4)
    texts = [["dog", "ape"], ["cat"], None] + [["dog"]] * 7
    pq.write_table(images.append_column("label", pa.array(texts, pa.list_(pa.string()))), HERE / "text_lists.parquet")

    # Photos, named as Hugging Face names ImageNet's: class_number_class.JPEG.
    photos = []
    for row, name in enumerate(("row.jpg", "gray2.png", "column.jpg", "palette1.png", "gray_column.jpg",
                                "rgb_transparent.png", "extended.jpg", "palette2.png")):
        content = (HERE.parent / "codec" / "images" / name).read_bytes()
        photos.append((content, row % 2, f"n{row % 2}_{row * 5}_n{row % 2}.JPEG"))
    write("photos.parquet", photos, row_group_size=5)

    # What is refused.
    def write_refused(name, table, **options):
        pq.write_table(table, HERE / name, **options)

    table = struct_table(ten)
    nulls = [None if row == 6 else {"bytes": ten[row][0], "path": "x"} for row in range(10)]
    write_refused("null_image.parquet", table.set_column(0, "image", pa.array(nulls, STRUCT)))
    labels = [None if row == 5 else 1 for row in range(10)]
    write_refused("null_label.parquet", table.set_column(1, "label", pa.array(labels, pa.int64())))
    labels = [-1 if row == 3 else 1 for row in range(10)]
    write_refused("negative_label.parquet", table.set_column(1, "label", pa.array(labels, pa.int32())))
    write_refused("float_label.parquet", table.set_column(1, "label", pa.array([0.5] * 10)))
    write_refused("lists.parquet", table.set_column(0, "image", pa.array([[b"x"]] * 10, pa.list_(pa.binary()))))
    write_refused("two_images.parquet", struct_table(ten).rename_columns(["img", "label"]).append_column(
        "mask", pa.array([{"bytes": b"x", "path": "x"}] * 10, STRUCT)))
    write_refused("null_in_list.parquet", images.append_column(
        "label", pa.array([[1]] * 4 + [[1, None]] + [[1]] * 5, pa.list_(pa.int32()))))
    write_refused("no_rows.parquet", table.slice(0, 0))
    (HERE / "listing.tsv").write_text("".join(listing))


if __name__ == "__main__":
    main()
